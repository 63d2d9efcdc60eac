import { PanelLeft, PanelRight } from 'lucide-react'
import type { ReactNode } from 'react'
import { useHint } from '@/app/hint'
import { IconButton } from '@/components/ui/Button'
import { useT } from '@/lib/i18n'
import type { Width } from '@/lib/useMedia'
import { useUi } from '@/stores/ui'

interface Props {
  id: string
  title: string
  /** Shown before the title. */
  children?: ReactNode
  width: Width
  onLeft: () => void
  onRight: () => void
}

/** The header of the middle pane: its title, and the toggles of the panes beside it. */
export function PaneHeader({ id, title, children, width, onLeft, onRight }: Props) {
  const t = useT()
  const leftOpen = useUi(ui => width !== 'narrow' && ui.leftOpen)
  const rightOpen = useUi(ui => (width === 'wide' ? ui.rightOpen : width === 'medium' && ui.sheetOpen))
  const hint = useHint()
  return (
    <header className="flex h-11 shrink-0 items-center gap-1 border-b px-2 max-md:h-12">
      <IconButton
        label={t('toggleSessions')}
        title={hint(t('toggleSessions'), 'toggleSessions')}
        aria-expanded={leftOpen}
        aria-controls={leftOpen ? 'pane-left' : undefined}
        onClick={onLeft}
      >
        <PanelLeft size={17} aria-hidden />
      </IconButton>
      <div className="flex min-w-0 flex-1 items-center justify-center gap-2">
        {children}
        <h2 id={id} className="truncate font-semibold text-[13.5px]">
          {title}
        </h2>
      </div>
      <IconButton
        label={t('toggleInspector')}
        title={hint(t('toggleInspector'), 'toggleInspector')}
        aria-expanded={rightOpen}
        aria-controls={rightOpen ? 'pane-right' : undefined}
        onClick={onRight}
      >
        <PanelRight size={17} aria-hidden />
      </IconButton>
    </header>
  )
}
