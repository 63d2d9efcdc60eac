import { useEffect, useRef, useState } from 'react'
import { ensureThread } from '@/app/threads'
import { Dialog } from '@/components/ui/Dialog'
import { QueryError } from '@/components/ui/QueryError'
import { Skeleton } from '@/components/ui/Skeleton'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import { useLive } from '@/stores/live'
import { shownThread } from '@/thread/loaded'
import { ConversationForm } from './ConversationForm'
import { useConversation } from './useConversation'

interface Props {
  session: string
  open: boolean
  onOpenChange: (open: boolean) => void
}

/** What is chosen for a conversation, to see and to change. */
export default function ConversationDialog({ session, open, onOpenChange }: Props) {
  const t = useT()
  const conversation = useConversation(session)
  const thread = useLive(s => shownThread(s.threads[session]))
  const failed = useLive(s => s.threads[session]?.phase === 'failed')
  const [leaving, setLeaving] = useState(false)
  const unsaved = useRef(false)
  useEffect(() => ensureThread(session), [session])
  const close = () => (unsaved.current ? setLeaving(true) : onOpenChange(false))
  return (
    <Dialog
      size="wide"
      open={open}
      onOpenChange={open => (open ? onOpenChange(open) : close())}
      title={t('thisConversation')}
    >
      {conversation.error && <QueryError error={conversation.error} />}
      {!conversation.error && failed && <QueryError error={new Error(t('chatGone'))} />}
      {conversation.data && thread ? (
        <ConversationForm
          conversation={conversation.data}
          thread={thread}
          leaving={leaving}
          onUnsaved={now => {
            unsaved.current = now
            if (!now) setLeaving(false)
          }}
          onStay={() => setLeaving(false)}
          onLeave={() => onOpenChange(false)}
        />
      ) : (
        !conversation.error && !failed && <Skeleton label={t('loading')} rows={8} />
      )}
    </Dialog>
  )
}
