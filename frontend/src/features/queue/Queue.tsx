import { Clock, Paperclip, Pencil, SendHorizontal, X } from 'lucide-react'
import { useState } from 'react'
import { IconButton } from '@/components/ui/Button'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import type { QueuedMessage } from '@/thread/model'
import { editQueued, removeQueued, sendQueuedNow } from './actions'
import { QueuedForm } from './QueuedForm'

interface Props {
  sessionId: string
  queue: readonly QueuedMessage[]
  /** Whether a run is under way, after which the first message is sent. */
  running: boolean
  /** Called when the field or button that had the focus is gone. */
  onLeave: () => void
}

/** The messages that are sent after the run under way, above the composer. */
export default function Queue({ sessionId, queue, running, onLeave }: Props) {
  const t = useT()
  const [editing, setEditing] = useState<string | null>(null)
  const stopEditing = () => {
    setEditing(null)
    onLeave()
  }
  return (
    <section
      aria-label={t('queue')}
      className="scroll mx-auto max-h-[30dvh] w-full max-w-[760px] overflow-y-auto px-4 pb-1.5 max-md:px-2"
    >
      <p className="flex items-center gap-1.5 py-1 text-fg-2 text-small" role="status">
        <Clock size={13} aria-hidden />
        {t(running ? 'queueWaits' : 'queuePaused', { n: queue.length })}
      </p>
      <ol className="space-y-1">
        {queue.map(message =>
          editing === message.id ? (
            <li key={message.id}>
              <QueuedForm
                text={message.content}
                onSave={text => {
                  void editQueued(sessionId, message.id, text)
                  stopEditing()
                }}
                onCancel={stopEditing}
              />
            </li>
          ) : (
            <li
              key={message.id}
              className="flex items-center gap-1 rounded-lg border bg-card py-0.5 ps-3 pe-1"
            >
              <span className="line-clamp-2 min-w-0 flex-1 whitespace-pre-wrap text-[13px] [overflow-wrap:anywhere]">
                {message.content}
              </span>
              {message.attachments.length > 0 && (
                <span className="flex items-center gap-0.5 text-fg-2 text-meta">
                  <Paperclip size={12} aria-hidden />
                  {t('queuedFiles', { n: message.attachments.length })}
                </span>
              )}
              <IconButton
                size="smallIcon"
                label={t('sendNow')}
                onClick={() => {
                  void sendQueuedNow(sessionId, message.id)
                  onLeave()
                }}
              >
                <SendHorizontal size={14} aria-hidden />
              </IconButton>
              <IconButton size="smallIcon" label={t('editQueued')} onClick={() => setEditing(message.id)}>
                <Pencil size={14} aria-hidden />
              </IconButton>
              <IconButton
                size="smallIcon"
                label={t('removeQueued')}
                onClick={() => {
                  void removeQueued(sessionId, message)
                  onLeave()
                }}
              >
                <X size={14} aria-hidden />
              </IconButton>
            </li>
          ),
        )}
      </ol>
    </section>
  )
}
