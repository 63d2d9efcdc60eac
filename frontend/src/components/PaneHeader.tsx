import { PanelLeft, PanelRight } from 'lucide-react'
import type { ReactNode } from 'react'
import type { Width } from '@/lib/useMedia'
import { useUi } from '@/stores/ui'
import { CommandIconButton } from './CommandButton'

/** The id of the button that opens the right pane. */
export const INSPECTOR_TOGGLE = 'toggle-inspector'

interface Props {
  id: string
  title: string
  /** Shown before the title. */
  children?: ReactNode
  /** Shown after the title. */
  actions?: ReactNode
  width: Width
}

/** The header of the middle pane: its title, and the toggles of the panes beside it. */
export function PaneHeader({ id, title, children, actions, width }: Props) {
  const leftOpen = useUi(ui => width !== 'narrow' && ui.leftOpen)
  const rightOpen = useUi(ui => (width === 'wide' ? ui.rightOpen : width === 'medium' && ui.sheetOpen))
  return (
    <header className="flex h-11 shrink-0 items-center gap-1 border-b px-2 max-md:h-12">
      <CommandIconButton
        command="toggleSessions"
        aria-expanded={leftOpen}
        aria-controls={leftOpen ? 'pane-left' : undefined}
      >
        <PanelLeft size={17} aria-hidden />
      </CommandIconButton>
      <div className="flex min-w-0 flex-1 items-center justify-center gap-2">
        {children}
        <h2 id={id} className="truncate font-semibold text-[13.5px]">
          {title}
        </h2>
      </div>
      {actions}
      <CommandIconButton
        command="toggleInspector"
        id={INSPECTOR_TOGGLE}
        aria-expanded={rightOpen}
        aria-controls={rightOpen ? 'pane-right' : undefined}
      >
        <PanelRight size={17} aria-hidden />
      </CommandIconButton>
    </header>
  )
}
