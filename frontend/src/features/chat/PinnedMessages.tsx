import { Pin } from 'lucide-react'
import type { PinnedMessage } from '@/api/types'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import { PinButton } from './PinButton'

interface Props {
  messages: readonly PinnedMessage[]
  onPin: (id: string, pinned: boolean) => void
}

/** Pinned messages that a summary has replaced: they are sent with every request, word for word. */
export default function PinnedMessages({ messages, onPin }: Props) {
  const t = useT()
  return (
    <section aria-label={t('pinnedMessages')} className="rounded-lg border bg-card px-3 py-2 text-[13px]">
      <h3 className="flex items-center gap-1.5 font-semibold text-fg-2 text-small">
        <Pin size={13} aria-hidden />
        {t('pinnedMessages')}
        <span className="font-normal text-fg-3">{t('pinnedHint')}</span>
      </h3>
      <ul className="mt-1 space-y-1">
        {messages.map(({ id, content }) => (
          <li key={id} className="flex items-start gap-2">
            <p className="line-clamp-3 min-w-0 flex-1 whitespace-pre-wrap [overflow-wrap:anywhere]">
              {content}
            </p>
            <PinButton pinned onPin={on => onPin(id, on)} />
          </li>
        ))}
      </ul>
    </section>
  )
}
