import { Files, MessageCircle, MessagesSquare } from 'lucide-react'
import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'
import type { Pane } from '@/stores/ui'

const TABS = [
  ['left', 'sessions', MessagesSquare],
  ['chat', 'chat', MessageCircle],
  ['right', 'files', Files],
] as const

export function BottomBar({ pane, onPane }: { pane: Pane; onPane: (pane: Pane) => void }) {
  const t = useT()
  return (
    <nav aria-label={t('panels')} className="safe-bottom flex shrink-0 border-t bg-float">
      {TABS.map(([name, label, Icon]) => (
        <button
          key={name}
          type="button"
          aria-current={pane === name ? 'page' : undefined}
          onClick={() => onPane(name)}
          className={cn(
            'flex h-14 flex-1 flex-col items-center justify-center gap-0.5 text-meta',
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
