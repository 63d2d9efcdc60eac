import { type FormEvent, type RefObject, useState } from 'react'
import type { Answer } from '@/api/approvals'
import { Button } from '@/components/ui/Button'
import { TextArea } from '@/components/ui/Input'
import { useT } from '@/lib/i18n'

interface Props {
  form: RefObject<HTMLFormElement | null>
  /** Of the button that denies. */
  words: string
  busy: boolean
  onAnswer: (answer: Answer) => void
  onBack: () => void
}

export function DenyForm({ form, words, busy, onAnswer, onBack }: Props) {
  const t = useT()
  const [reason, setReason] = useState('')
  const submit = (event: FormEvent) => {
    event.preventDefault()
    onAnswer({ decision: 'deny', reason: reason.trim() })
  }
  return (
    <form onSubmit={submit} ref={form} className="space-y-2">
      <label className="block text-fg-2 text-small">
        {t('denyReason')}
        <TextArea
          // The person has just asked to write the reason.
          autoFocus
          rows={2}
          value={reason}
          onChange={event => setReason(event.target.value)}
          className="mt-1"
        />
      </label>
      <div className="flex flex-wrap gap-2">
        <Button type="submit" look="danger" disabled={busy || reason.trim() === ''}>
          {words}
        </Button>
        <Button look="ghost" onClick={onBack}>
          {t('back')}
        </Button>
      </div>
    </form>
  )
}
