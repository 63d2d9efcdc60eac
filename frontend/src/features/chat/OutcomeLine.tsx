import { CircleStop, Gauge, Play, RotateCcw, TriangleAlert } from 'lucide-react'
import { useCommand } from '@/app/useCommand'
import { Badge } from '@/components/ui/Badge'
import { Button } from '@/components/ui/Button'
import { CopyButton } from '@/components/ui/CopyButton'
import { type Key, useSay, useT } from '@/lib/i18n'
import { failureIn, limitIn } from '@/lib/server'
import type { Outcome } from '@/thread/model'

const CUT: Record<string, Key> = { limit: 'cutLimit', length: 'cutLength', refusal: 'cutRefusal' }

/** Reasons after which an answer may be incomplete. */
const UNFINISHED: readonly string[] = ['limit', 'length']
/** The code of an answer that waits for the person, because it would exceed a limit of their own. */
const OWN_LIMIT = 'own_usage_limit'

interface Props {
  outcome: Outcome
  /** Continues the answer, or requests a failed one again; null unless this is the last answer. */
  onContinue: ((beyondOwnLimit: boolean) => void) | null
}

/** How a work ended, if it did not simply finish. */
export function OutcomeLine({ outcome, onContinue }: Props) {
  const t = useT()
  const say = useSay()
  switch (outcome.kind) {
    case 'running':
    case 'done':
      return null
    case 'stopped':
      return (
        <div className="flex flex-wrap items-center gap-2">
          <Badge>
            <CircleStop size={12} aria-hidden />
            {t(outcome.by === 'server' ? 'stoppedWithServer' : 'stopped')}
          </Badge>
          {onContinue && <Continue onContinue={() => onContinue(false)} />}
        </div>
      )
    case 'cut': {
      const key = CUT[outcome.reason]
      return (
        <p className="flex flex-wrap items-center gap-2 text-[13px] text-warn">
          <TriangleAlert size={14} aria-hidden />
          {key ? t(key) : t('cutOther', { reason: outcome.reason })}
          {outcome.detail && <span className="text-fg-2">{limitIn(say, outcome.detail)}</span>}
          {onContinue && UNFINISHED.includes(outcome.reason) && (
            <Continue onContinue={() => onContinue(false)} />
          )}
        </p>
      )
    }
    case 'error':
      if (outcome.code === OWN_LIMIT) return <OwnLimit outcome={outcome} onContinue={onContinue} />
      return (
        <section
          aria-label={t('errorTitle')}
          className="rounded-lg border border-bad-line bg-bad-soft px-3 py-2.5 text-[13px]"
        >
          <p className="flex items-center gap-2 font-semibold text-bad">
            <TriangleAlert size={14} aria-hidden />
            {t('errorTitle')}
          </p>
          <p className="mt-1 whitespace-pre-wrap [overflow-wrap:anywhere]">
            {failureIn(say, outcome.code, { ...outcome.about, message: outcome.message }) ?? outcome.message}
          </p>
          <div className="mt-2 flex flex-wrap gap-2">
            {onContinue && (
              <Button size="small" onClick={() => onContinue(false)}>
                <RotateCcw size={13} aria-hidden />
                {t('retry')}
              </Button>
            )}
            <CopyButton
              words={t('copyDetails')}
              label={t('copyDetails')}
              text={() => `${outcome.code}: ${outcome.message}`}
            />
          </div>
        </section>
      )
  }
}

/** Asks whether the answer goes on although the person's own limit would be exceeded. */
function OwnLimit({ outcome, onContinue }: Props & { outcome: Extract<Outcome, { kind: 'error' }> }) {
  const t = useT()
  const say = useSay()
  const usage = useCommand('usage')
  return (
    <section
      aria-label={t('ownLimitReached')}
      className="rounded-lg border border-warn-line bg-warn-soft px-3 py-2.5 text-[13px]"
    >
      <p className="flex items-center gap-2 font-semibold text-warn">
        <Gauge size={14} aria-hidden />
        {t('ownLimitReached')}
      </p>
      <p className="mt-1 [overflow-wrap:anywhere]">
        {failureIn(say, outcome.code, { ...outcome.about, message: outcome.message }) ?? outcome.message}
      </p>
      <div className="mt-2 flex flex-wrap gap-2">
        {onContinue && (
          <Button size="small" onClick={() => onContinue(true)}>
            <Play size={12} aria-hidden />
            {t('ownLimitGoOn')}
          </Button>
        )}
        <Button size="small" onClick={usage.run}>
          {t('ownLimitsChange')}
        </Button>
      </div>
    </section>
  )
}

function Continue({ onContinue }: { onContinue: () => void }) {
  const t = useT()
  return (
    <Button size="small" onClick={onContinue}>
      <Play size={12} aria-hidden />
      {t('continueAnswer')}
    </Button>
  )
}
