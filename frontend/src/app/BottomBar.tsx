import { Files, type LucideIcon, MessageCircle, MessagesSquare, SlidersHorizontal } from 'lucide-react'
import { cn } from '@/lib/cn'
import { type Key, useT } from '@/lib/i18n'
import type { Pane } from '@/stores/ui'

type Tab = readonly [pane: Pane, label: Key, icon: LucideIcon]

const SESSIONS: Tab = ['left', 'sessions', MessagesSquare]
const CHAT: Tab = ['chat', 'chat', MessageCircle]
const PLAYGROUND: Tab = ['chat', 'playgroundShort', SlidersHorizontal]
const FILES: Tab = ['right', 'files', Files]

interface Props {
  pane: Pane
  /** The playground stands in the conversation's place. */
  playing: boolean
  onPane: (pane: Pane) => void
}

export function BottomBar({ pane, playing, onPane }: Props) {
  const t = useT()
  const tabs = [SESSIONS, playing ? PLAYGROUND : CHAT, FILES]
  return (
    <nav aria-label={t('panels')} className="safe-bottom flex shrink-0 border-t bg-float">
      {tabs.map(([name, label, Icon]) => (
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
