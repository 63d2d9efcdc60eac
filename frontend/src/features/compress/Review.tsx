import { useEffect, useMemo, useRef, useState } from 'react'
import type { CompressionPlan, ProposedSummary } from '@/api/types'
import { Button } from '@/components/ui/Button'
import { DialogActions } from '@/components/ui/Dialog'
import { ErrorText } from '@/components/ui/ErrorText'
import { TextArea } from '@/components/ui/Input'
import { CompactedMessages } from '@/features/recovery/CompactedMessages'
import { compactNumber } from '@/lib/format'
import { useT } from '@/lib/i18n'
import { Missing } from './Missing'
import { missingFrom, tokensWith, withAdded } from './omissions'

interface Props {
  plan: CompressionPlan
  proposed: ProposedSummary | null
  /** Resolves to null on success, else to the reason. */
  onAccept: (summary: string) => Promise<string | null>
  onLook: () => void
  /** Whether the summary differs from the one that was proposed. */
  onChanged: (changed: boolean) => void
  onClose: () => void
  /** Set when the person tries to leave with an edited summary. */
  leaving: { stay: () => void; leave: () => void } | null
}

/** The originals beside the summary that would replace them. */
export function Review({ plan, proposed, onAccept, onLook, onChanged, onClose, leaving }: Props) {
  const t = useT()
  const [summary, setSummary] = useState(proposed?.summary ?? '')
  const change = (text: string) => {
    setSummary(text)
    onChanged(text.trim() !== (proposed?.summary ?? '').trim())
  }
  const field = useRef<HTMLTextAreaElement>(null)
  // The button that had the focus is gone. A touch screen would show its keyboard.
  useEffect(() => {
    if (!matchMedia('(pointer: coarse)').matches) field.current?.focus()
  }, [])
  const [sending, setSending] = useState(false)
  const [problem, setProblem] = useState<string | null>(null)
  const missing = useMemo(() => missingFrom(summary, plan.mentions), [summary, plan])
  const exact = proposed !== null && summary === proposed.summary
  const after = exact ? proposed.tokens_after : tokensWith(summary, plan)
  const accept = async () => {
    setSending(true)
    setProblem(await onAccept(summary.trim()))
    setSending(false)
  }
  const tokens = { before: compactNumber(plan.tokens_before), after: compactNumber(after) }
  return (
    <>
      <div className="grid gap-4 md:grid-cols-2">
        <div className="min-w-0">
          <h3 className="mb-1 font-semibold text-[13px]">{t('originals')}</h3>
          <section
            tabIndex={0}
            aria-label={t('originals')}
            className="scroll max-h-[52dvh] rounded-lg border bg-pane-2 p-2 max-md:max-h-[26dvh]"
          >
            <CompactedMessages messages={plan.messages} />
          </section>
        </div>
        <div className="min-w-0">
          <label className="mb-1 block font-semibold text-[13px]" htmlFor="compress-summary">
            {t('compressSummary')}
          </label>
          <TextArea
            ref={field}
            id="compress-summary"
            rows={8}
            value={summary}
            onChange={event => change(event.target.value)}
            className="resize-y max-md:h-36"
          />
          <p className="mt-1 text-fg-2 text-small tabular-nums">
            {t(exact ? 'compressExact' : 'compressAbout', tokens)}
          </p>
          <Missing
            missing={missing}
            unlisted={plan.more_mentions}
            onAdd={text => change(withAdded(summary, text))}
          />
        </div>
      </div>
      <DialogActions>
        {leaving ? (
          <Leaving {...leaving} />
        ) : (
          <>
            {problem !== null && <ErrorText className="me-auto">{problem}</ErrorText>}
            {problem !== null && <Button onClick={onLook}>{t('compressAgain')}</Button>}
            <Button onClick={onClose}>{t('cancel')}</Button>
            <Button look="solid" disabled={summary.trim() === '' || sending} onClick={() => void accept()}>
              {t('compressAccept')}
            </Button>
          </>
        )}
      </DialogActions>
    </>
  )
}

function Leaving({ stay, leave }: { stay: () => void; leave: () => void }) {
  const t = useT()
  return (
    <>
      <p role="alert" className="me-auto min-w-0 text-[13px]">
        {t('compressDiscard')}
      </p>
      <Button look="danger" onClick={leave}>
        {t('discard')}
      </Button>
      <Button look="solid" autoFocus onClick={stay}>
        {t('keepEditing')}
      </Button>
    </>
  )
}
