import { Files, type LucideIcon, MessagesSquare } from 'lucide-react'
import { cn } from '@/lib/cn'
import { type Key, useT } from '@/lib/i18n'
import type { Pane } from '@/stores/ui'
import type { Page } from './pages'

type Tab = readonly [pane: Pane, label: Key, icon: LucideIcon]

const SESSIONS: Tab = ['left', 'sessions', MessagesSquare]
const FILES: Tab = ['right', 'files', Files]

interface Props {
  pane: Pane
  /** The page in the middle pane. */
  page: Pick<Page, 'label' | 'icon'>
  onPane: (pane: Pane) => void
}

export function BottomBar({ pane, page, onPane }: Props) {
  const t = useT()
  const tabs: readonly Tab[] = [SESSIONS, ['chat', page.label, page.icon], FILES]
  return (
    <nav aria-label={t('panels')} className="keyboard-hides safe-bottom flex shrink-0 border-t bg-float">
      {tabs.map(([name, label, Icon]) => (
        <button
          key={name}
          type="button"
          aria-current={pane === name ? 'page' : undefined}
          onClick={() => onPane(name)}
          className={cn(
            'flex h-14 min-w-0 flex-1 flex-col items-center justify-center gap-0.5 text-meta lowest:h-11 lowest:flex-row lowest:gap-2',
            pane === name ? 'font-semibold text-accent' : 'text-fg-2',
          )}
        >
          <Icon size={18} aria-hidden />
          {t(label)}
        </button>
      ))}
    </nav>
  )
}
