import { type FormEvent, type KeyboardEvent, useState } from 'react'
import { Button } from '@/components/ui/Button'
import { SentFiles } from '@/features/attach/SentFiles'
import { useT } from '@/lib/i18n'
import { useComposition } from '@/lib/ime'
import type { Attachment } from '@/thread/model'

interface Props {
  text: string
  /** They stay with the message. */
  attachments: readonly Attachment[]
  onSend: (text: string) => void
  onCancel: () => void
}

/** A message to be asked differently. The conversation goes on from there; what followed is kept. */
export function EditForm({ text, attachments, onSend, onCancel }: Props) {
  const t = useT()
  const composition = useComposition()
  const [draft, setDraft] = useState(text)
  const ready = draft.trim() !== '' || attachments.length > 0
  const send = () => ready && onSend(draft.trim())
  const submit = (event: FormEvent) => {
    event.preventDefault()
    send()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (composition.owns(event)) return
    if (event.key === 'Escape') {
      // Esc belongs to this field, not to a run.
      event.stopPropagation()
      onCancel()
    } else if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault()
      send()
    }
  }
  return (
    <form onSubmit={submit} className="ms-auto w-full max-w-[85%] rounded-[18px] border bg-card p-2">
      <SentFiles files={attachments} />
      <textarea
        // biome-ignore lint/a11y/noAutofocus: the person has just asked to edit it
        autoFocus
        aria-label={t('editMessage')}
        rows={Math.min(10, draft.split('\n').length + 1)}
        value={draft}
        onChange={event => setDraft(event.target.value)}
        onKeyDown={onKeyDown}
        {...composition.handlers}
        className="scroll block w-full resize-none bg-transparent px-2 py-1 outline-none max-md:text-[16px]"
      />
      <div className="flex justify-end gap-2">
        <Button size="small" look="ghost" onClick={onCancel}>
          {t('cancel')}
        </Button>
        <Button size="small" look="solid" type="submit" disabled={!ready}>
          {t('send')}
        </Button>
      </div>
    </form>
  )
}
