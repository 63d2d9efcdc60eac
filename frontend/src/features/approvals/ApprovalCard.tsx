import { type KeyboardEvent, useEffect, useRef, useState } from 'react'
import type { Answer } from '@/api/approvals'
import type { Approval } from '@/api/types'
import { Button } from '@/components/ui/Button'
import { ErrorText } from '@/components/ui/ErrorText'
import { Kbd } from '@/components/ui/Kbd'
import { cn } from '@/lib/cn'
import { useSay, useT } from '@/lib/i18n'
import { useMounted } from '@/lib/mounted'
import { becauseIn } from '@/lib/server'
import { Countdown } from './Countdown'
import { approvalCards } from './cards'
import { DenyForm } from './DenyForm'
import { InputForm } from './InputForm'
import { kindOf } from './kinds'
import { changesNothing } from './outcome'
import { Rehearsal } from './Rehearsal'
import { RiskBadges } from './RiskBadges'
import { risksOf } from './risks'
import { ShownCall } from './ShownCall'
import { canBeAlways } from './standing'
import { NoTryOut, TryOut } from './TryOut'

/** Milliseconds. A digit typed into the composer just as the card took the focus was meant for the composer. */
const UNREAD_MS = 700

type Mode = 'asking' | 'editing' | 'denying'

/** The decision that the form of each mode submits. */
const FORMS = { asking: null, editing: 'approve', denying: 'deny' } as const

interface Props {
  approval: Approval
  /** Resolves to null on success, else to the reason. */
  onAnswer: (answer: Answer) => Promise<string | null>
  /** Like `onAnswer`, for a request to try the call out first. */
  onTryOut: () => Promise<string | null>
  /** Whether the card may take the focus: the person waits in an empty composer. */
  takesFocus: () => boolean
  /** It is being answered from elsewhere. */
  answering?: boolean
}

export function ApprovalCard({ approval, onAnswer, onTryOut, takesFocus, answering = false }: Props) {
  const t = useT()
  const reason = becauseIn(useSay(), approval.because) ?? approval.reason
  const { title, icon: Icon, language } = kindOf(approval, t)
  const risks = risksOf(approval)
  const grave = risks.some(({ tone }) => tone === 'bad')
  const card = useRef<HTMLDivElement>(null)
  const form = useRef<HTMLFormElement>(null)
  const seenAt = useRef(0)
  const [mode, setMode] = useState<Mode>('asking')
  const [sending, setSending] = useState(false)
  const busy = sending || answering
  const [problem, setProblem] = useState<string | null>(null)
  const always = canBeAlways(approval)
  const { rehearsal } = approval.shown

  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the card appears
  useEffect(() => {
    seenAt.current = performance.now()
    if (takesFocus()) card.current?.focus({ preventScroll: true })
  }, [])
  const tried = useRef(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: when the same call is asked about again
  useEffect(() => {
    seenAt.current = performance.now()
    // The button that the person pressed is gone.
    if (tried.current && document.activeElement === document.body)
      card.current?.focus({ preventScroll: true })
    tried.current = false
  }, [approval.hash])

  useMounted(approvalCards, approval.id, {
    element: () => card.current,
    form: FORMS[mode],
    submit: () => form.current?.requestSubmit(),
  })
  const give = async (answer: Answer) => {
    if (busy) return
    setSending(true)
    setProblem(await onAnswer(answer))
    setSending(false)
  }
  const back = () => {
    setMode('asking')
    card.current?.focus()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') {
      // Esc never approves and never denies: neither here nor by stopping the run.
      event.stopPropagation()
      if (mode !== 'asking') back()
      return
    }
    const writing = event.target instanceof HTMLTextAreaElement
    const chord = event.ctrlKey || event.metaKey || event.altKey
    if (writing || chord || event.repeat || performance.now() - seenAt.current < UNREAD_MS) return
    if (event.key === '1') void give({ decision: 'approve' })
    else if (event.key === '2' && always) void give({ decision: 'always' })
    else if (event.key === '3') void give({ decision: 'deny' })
    else return
    event.preventDefault()
  }
  return (
    <div
      ref={card}
      role="group"
      aria-label={t('approvalNeeded', { tool: title })}
      tabIndex={-1}
      data-approval={approval.id}
      onKeyDown={onKeyDown}
      className={cn(
        'space-y-2 rounded-lg border p-3 text-[13px]',
        grave ? 'border-bad-line bg-bad-soft' : 'border-warn-line bg-warn-soft',
      )}
    >
      <div className={cn('flex flex-wrap items-center gap-x-2', grave ? 'text-bad' : 'text-warn')}>
        <Icon size={16} aria-hidden className="shrink-0" />
        <h3 className="min-w-0 flex-1 font-semibold text-[14px] [overflow-wrap:anywhere]">{title}</h3>
        <Countdown id={approval.id} until={approval.expires_at} tool={approval.tool} />
      </div>
      <RiskBadges risks={risks} />
      {reason && <p className="text-fg-2 [overflow-wrap:anywhere]">{reason}</p>}
      {mode !== 'editing' && <ShownCall approval={approval} language={language} />}
      {mode !== 'editing' && rehearsal && <Rehearsal approval={approval} rehearsal={rehearsal} />}
      {mode === 'asking' && <NoTryOut approval={approval} />}
      {mode === 'asking' && (
        <div className="flex flex-wrap gap-2">
          <Button look="solid" disabled={busy} onClick={() => void give({ decision: 'approve' })}>
            {t(rehearsal ? (changesNothing(rehearsal) ? 'effectUse' : 'effectApply') : 'allowOnce')}
            <Digit n={1} />
          </Button>
          <TryOut
            approval={approval}
            disabled={busy}
            onTryOut={async () => {
              tried.current = true
              setProblem(await onTryOut())
            }}
          />
          {always && (
            <Button
              disabled={busy}
              title={t('allowAlwaysHint', { tool: approval.tool })}
              onClick={() => void give({ decision: 'always' })}
            >
              {t('allowAlways')}
              <Digit n={2} />
            </Button>
          )}
          {approval.shown.host && (
            <Button
              disabled={busy}
              title={t('allowHostHint')}
              onClick={() => void give({ decision: 'always_host' })}
            >
              {t('allowHost', { host: approval.shown.host })}
            </Button>
          )}
          <Button look="danger" disabled={busy} onClick={() => void give({ decision: 'deny' })}>
            {t(rehearsal ? 'effectDiscard' : 'deny')}
            <Digit n={3} />
          </Button>
          <span className="flex">
            <Button look="ghost" disabled={busy} onClick={() => setMode('editing')}>
              {t('editInput')}
            </Button>
            <Button look="ghost" disabled={busy} onClick={() => setMode('denying')}>
              {t(rehearsal ? 'effectDiscardWhy' : 'denyWhy')}
            </Button>
          </span>
        </div>
      )}
      {mode === 'editing' && (
        <>
          {rehearsal && <p className="text-fg-2">{t('effectEdited')}</p>}
          <InputForm form={form} args={approval.arguments} busy={busy} onAnswer={give} onBack={back} />
        </>
      )}
      {mode === 'denying' && (
        <DenyForm
          form={form}
          words={t(rehearsal ? 'effectDiscard' : 'deny')}
          {...{ busy, onAnswer: give, onBack: back }}
        />
      )}
      {problem !== null && <ErrorText>{t('notDone', { reason: problem })}</ErrorText>}
    </div>
  )
}

/** The key that does the same while the card has the focus. */
const Digit = ({ n }: { n: number }) => (
  <span aria-hidden className="pointer-coarse:hidden">
    <Kbd>{n}</Kbd>
  </span>
)
