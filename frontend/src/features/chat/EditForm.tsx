import { type FormEvent, type KeyboardEvent, useRef, useState } from 'react'
import type { NewMessage } from '@/app/threads'
import { Button } from '@/components/ui/Button'
import { SentFiles } from '@/features/attach/SentFiles'
import { useT } from '@/lib/i18n'
import { useComposition } from '@/lib/ime'
import { useScreenKeys } from '@/lib/useMedia'
import type { Attachment } from '@/thread/model'

interface Props {
  text: string
  /** The attachments of the message; the person can remove some. */
  attachments: readonly Attachment[]
  onSend: (said: NewMessage) => void
  onCancel: () => void
}

/** A form that edits a sent message. The conversation continues from there; what followed is kept as a branch. */
export default function EditForm({ text, attachments, onSend, onCancel }: Props) {
  const t = useT()
  const composition = useComposition()
  const screenKeys = useScreenKeys()
  const [draft, setDraft] = useState(text)
  const [files, setFiles] = useState(attachments)
  const field = useRef<HTMLTextAreaElement>(null)
  const ready = draft.trim() !== '' || files.length > 0
  const send = () => ready && onSend({ content: draft.trim(), attachments: files })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    send()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (composition.owns(event)) return
    if (event.key === 'Escape') {
      // Esc closes this form; it does not stop a run.
      event.stopPropagation()
      onCancel()
    } else if (event.key === 'Enter' && !event.shiftKey && !event.altKey) {
      if (screenKeys && !event.ctrlKey && !event.metaKey) return
      event.preventDefault()
      send()
    }
  }
  return (
    <form onSubmit={submit} className="ms-auto w-full max-w-[85%] rounded-[18px] border bg-card p-2">
      <SentFiles
        files={files}
        onRemove={file => {
          setFiles(files.filter(other => other !== file))
          // The button that had the focus is gone.
          field.current?.focus()
        }}
      />
      <textarea
        ref={field}
        // biome-ignore lint/a11y/noAutofocus: the person has just asked to edit it
        autoFocus
        aria-label={t('editMessage')}
        rows={Math.min(10, draft.split('\n').length + 1)}
        value={draft}
        onChange={event => setDraft(event.target.value)}
        onKeyDown={onKeyDown}
        enterKeyHint={screenKeys ? 'enter' : 'send'}
        {...composition.handlers}
        className="scroll block w-full resize-none bg-transparent px-2 py-1 outline-none max-md:text-[16px] pointer-coarse:text-[16px]"
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
