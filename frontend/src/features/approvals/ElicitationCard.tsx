import { MessageCircleQuestion } from 'lucide-react'
import { type FormEvent, type KeyboardEvent, useEffect, useRef, useState } from 'react'
import type { Answer } from '@/api/approvals'
import type { Approval, Elicitation } from '@/api/types'
import { Button } from '@/components/ui/Button'
import { ErrorText } from '@/components/ui/ErrorText'
import { Visible } from '@/components/Visible'
import { useT } from '@/lib/i18n'
import { useMounted } from '@/lib/mounted'
import { Countdown } from './Countdown'
import { approvalCards } from './cards'
import { ElicitationField } from './ElicitationField'
import { ElicitedAddress } from './ElicitedAddress'
import { contentOf, initialOf, problemOf } from './elicitation'

interface Props {
  approval: Approval
  asked: Elicitation
  /** Resolves to null on success, else to the reason. */
  onAnswer: (answer: Answer) => Promise<string | null>
  /** Whether the card may take the focus: the person waits in an empty composer. */
  takesFocus: () => boolean
}

/** What an MCP server asks for while it carries out a call: a form, or an address to open. */
export function ElicitationCard({ approval, asked, onAnswer, takesFocus }: Props) {
  const t = useT()
  const { server } = asked
  const title = t('elicitTitle', { server })
  const fields = asked.mode === 'form' ? asked.fields : []
  const card = useRef<HTMLFormElement>(null)
  const [values, setValues] = useState(() => initialOf(fields))
  const [shown, setShown] = useState(false)
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<string | null>(null)
  const problems = fields.map(field => problemOf(field, values[field.name] ?? '', t))

  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the card appears
  useEffect(() => {
    if (takesFocus()) card.current?.focus({ preventScroll: true })
  }, [])
  useMounted(approvalCards, approval.id, {
    element: () => card.current,
    form: 'approve',
    submit: () => card.current?.requestSubmit(),
  })
  const give = async (answer: Answer) => {
    if (busy) return
    setBusy(true)
    setProblem(await onAnswer(answer))
    setBusy(false)
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (asked.mode === 'url') return void give({ decision: 'approve' })
    setShown(true)
    if (problems.every(wrong => wrong === null))
      return void give({ decision: 'approve', content: contentOf(fields, values) })
    const first = problems.findIndex(wrong => wrong !== null)
    card.current
      ?.querySelectorAll<HTMLElement>('[data-field]')
      [first]?.querySelector<HTMLElement>('input, select')
      ?.focus()
  }
  // Esc neither answers nor stops the run.
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') event.stopPropagation()
  }
  return (
    <form
      ref={card}
      noValidate
      aria-label={title}
      tabIndex={-1}
      data-approval={approval.id}
      onSubmit={submit}
      onKeyDown={onKeyDown}
      className="space-y-3 rounded-lg border border-warn-line bg-warn-soft p-3 text-[13px]"
    >
      <div className="flex flex-wrap items-center gap-x-2 text-warn">
        <MessageCircleQuestion size={16} aria-hidden className="shrink-0" />
        <h3 className="min-w-0 flex-1 font-semibold text-[14px] [overflow-wrap:anywhere]">{title}</h3>
        <Countdown id={approval.id} until={approval.expires_at} tool={approval.tool} />
      </div>
      {asked.message && (
        <p className="scroll max-h-60 overflow-y-auto whitespace-pre-wrap text-fg [overflow-wrap:anywhere]">
          <Visible text={asked.message} />
        </p>
      )}
      <p className="text-fg-2 text-small">
        {t(asked.mode === 'url' ? 'elicitUrlNote' : 'elicitNote', { server })}
      </p>
      {asked.mode === 'url' && <ElicitedAddress url={asked.url} host={asked.host} />}
      {fields.map((field, at) => (
        <div key={field.name} data-field={field.name}>
          <ElicitationField
            field={field}
            value={values[field.name] ?? ''}
            error={shown ? (problems[at] ?? null) : null}
            onChange={value => setValues({ ...values, [field.name]: value })}
          />
        </div>
      ))}
      <div className="flex flex-wrap gap-2">
        <Button
          type="submit"
          look="solid"
          disabled={busy}
          title={asked.mode === 'url' ? t('elicitDoneHint', { server }) : undefined}
        >
          {t(asked.mode === 'url' ? 'elicitDone' : 'elicitSend')}
        </Button>
        <Button
          look="danger"
          disabled={busy}
          title={t('elicitDeclineHint', { server })}
          onClick={() => void give({ decision: 'deny' })}
        >
          {t('elicitDecline')}
        </Button>
        <Button
          look="ghost"
          disabled={busy}
          title={t('elicitCancelHint', { server })}
          onClick={() => void give({ decision: 'dismiss' })}
        >
          {t('elicitCancel')}
        </Button>
      </div>
      {problem !== null && <ErrorText>{t('notDone', { reason: problem })}</ErrorText>}
    </form>
  )
}
