import { type FormEvent, type KeyboardEvent, useState } from 'react'
import { Button } from '@/components/ui/Button'
import { useT } from '@/lib/i18n'
import { useComposition } from '@/lib/ime'
import { useScreenKeys } from '@/lib/useMedia'

interface Props {
  text: string
  onSave: (text: string) => void
  onCancel: () => void
}

/** Edits the text of a queued message. */
export function QueuedForm({ text, onSave, onCancel }: Props) {
  const t = useT()
  const composition = useComposition()
  const screenKeys = useScreenKeys()
  const [draft, setDraft] = useState(text)
  const ready = draft.trim() !== ''
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (ready) onSave(draft.trim())
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (composition.owns(event)) return
    if (event.key === 'Escape') {
      // Esc closes this form; it does not stop the run.
      event.stopPropagation()
      onCancel()
    } else if (event.key === 'Enter' && !event.shiftKey && !event.altKey && !screenKeys) submit(event)
  }
  return (
    <form onSubmit={submit} className="rounded-lg border border-accent bg-card p-1.5">
      <textarea
        // biome-ignore lint/a11y/noAutofocus: the person has just asked to edit it
        autoFocus
        aria-label={t('editQueued')}
        rows={Math.min(6, draft.split('\n').length)}
        value={draft}
        onChange={event => setDraft(event.target.value)}
        onKeyDown={onKeyDown}
        {...composition.handlers}
        className="scroll block w-full resize-none bg-transparent px-1.5 py-1 text-[13px] outline-none max-md:text-[16px] pointer-coarse:text-[16px]"
      />
      <div className="flex justify-end gap-2">
        <Button size="small" look="ghost" onClick={onCancel}>
          {t('cancel')}
        </Button>
        <Button size="small" look="solid" type="submit" disabled={!ready}>
          {t('save')}
        </Button>
      </div>
    </form>
  )
}
