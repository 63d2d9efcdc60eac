import { Pencil } from 'lucide-react'
import { memo } from 'react'
import { useHint } from '@/app/hint'
import type { NewMessage } from '@/app/threads'
import { onDemand } from '@/components/onDemand'
import { IconButton } from '@/components/ui/Button'
import { CopyingButton, useCopy } from '@/components/ui/CopyButton'
import { SentFiles } from '@/features/attach/SentFiles'
import { cn } from '@/lib/cn'
import { useMounted } from '@/lib/mounted'
import { useUi } from '@/stores/ui'
import type { Attachment } from '@/thread/model'
import { MessageToolbar } from './MessageToolbar'
import { messageActions } from './messageActions'
import { Siblings } from './Siblings'
import { Time } from './Times'
import { WITHDRAWN } from './WithdrawnLine'

const EditForm = onDemand(() => import('./EditForm'))

interface Props {
  content: string
  attachments: readonly Attachment[]
  /** Ids of the messages at this place in all branches, including this one. */
  branches: readonly string[]
  id: string
  /** Unix seconds. */
  sentAt: number
  pinned: boolean
  withdrawn: boolean
  onPin: (id: string, pinned: boolean) => void
  /** Null while the session runs. */
  onEdit: ((said: NewMessage) => void) | null
  onSwitchBranch: ((to: string) => void) | null
}

/** A person's message, shown as typed: with its line breaks and characters, without Markdown. */
export const UserBubble = memo(function UserBubble(props: Props) {
  const { content, attachments, branches, id, sentAt, pinned, withdrawn, onPin, onEdit, onSwitchBranch } =
    props
  const editMessageHint = useHint('editMessage')
  const copyMessageHint = useHint('copyMessage')
  const editing = useUi(s => s.editing === id)
  const setEditing = (on: boolean) => useUi.setState({ editing: on ? id : null })
  const copying = useCopy(() => content)
  const idle = !editing || !onEdit
  useMounted(messageActions, id, {
    editMessage: onEdit && idle ? () => setEditing(true) : null,
    copyMessage: content !== '' && idle ? copying.copy : null,
    pinMessage: content !== '' && idle ? () => onPin(id, !pinned) : null,
  })
  if (editing && onEdit) {
    return (
      <EditForm
        text={content}
        attachments={attachments}
        onSend={said => {
          setEditing(false)
          onEdit(said)
          // The field that has the focus is about to vanish.
          document.querySelector<HTMLElement>('[data-composer]')?.focus()
        }}
        onCancel={() => setEditing(false)}
      />
    )
  }
  return (
    <div>
      <SentFiles files={attachments} message={id} />
      <div className="flex items-end justify-end gap-1">
        {content !== '' && (
          <div
            className={cn(
              'order-2 w-fit max-w-[85%] whitespace-pre-wrap rounded-[18px] rounded-ee-md bg-user px-3.5 py-2 text-user-fg [overflow-wrap:anywhere]',
              withdrawn && WITHDRAWN,
            )}
          >
            {content}
          </div>
        )}
        <Time at={sentAt} />
        {(onEdit || content !== '') && (
          <MessageToolbar pinned={pinned} onPin={content !== '' ? on => onPin(id, on) : null}>
            {onEdit && (
              <IconButton {...editMessageHint} size="smallIcon" onClick={() => setEditing(true)}>
                <Pencil size={13} aria-hidden />
              </IconButton>
            )}
            {content !== '' && <CopyingButton {...copyMessageHint} copying={copying} />}
          </MessageToolbar>
        )}
      </div>
      {branches.length > 1 && (
        <div className="mt-0.5 flex justify-end">
          <Siblings id={id} branches={branches} onGo={onSwitchBranch} />
        </div>
      )}
    </div>
  )
})
