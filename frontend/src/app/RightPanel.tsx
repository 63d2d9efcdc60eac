import type { ComponentType } from 'react'
import { ErrorBoundary } from '@/components/ErrorBoundary'
import { type Key, useT } from '@/lib/i18n'
import { useUi } from '@/stores/ui'
import type { Page } from './pages'
import { PANELS, type PanelProps } from './panels'

interface Props {
  Panel: ComponentType<PanelProps>
  /** Label of the link back to the page's default panel; null if this is the default. */
  back: Key | null
  onBack: () => void
}

/** The panel beside a page: the chosen one if the page offers it, else the page's default. */
export function useRightPanel({ panels }: Page): Props & { title: Key } {
  const chosen = useUi(ui => ui.beside)
  const [first] = panels
  const id = panels.includes(chosen) ? chosen : first
  const back = id === first ? null : PANELS[first].back
  return { ...PANELS[id], back, onBack: () => useUi.setState({ beside: first }) }
}

export function RightPanel({ Panel, back, onBack }: Props) {
  const t = useT()
  return (
    <ErrorBoundary>
      <Panel back={back && { words: t(back), run: onBack }} />
    </ErrorBoundary>
  )
}
