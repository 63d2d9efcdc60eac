import { CircleStop, RotateCcw, TriangleAlert } from 'lucide-react'
import { Badge } from '@/components/ui/Badge'
import { Button } from '@/components/ui/Button'
import { CopyButton } from '@/components/ui/CopyButton'
import { type Key, useSay, useT } from '@/lib/i18n'
import { failureIn } from '@/lib/server'
import type { Outcome } from '@/thread/model'

const CUT: Record<string, Key> = { limit: 'cutLimit', length: 'cutLength', refusal: 'cutRefusal' }

/** How a work ended, where it did not simply finish. */
export function OutcomeLine({ outcome, onRetry }: { outcome: Outcome; onRetry: (() => void) | null }) {
  const t = useT()
  const say = useSay()
  switch (outcome.kind) {
    case 'running':
    case 'done':
      return null
    case 'stopped':
      return (
        <Badge>
          <CircleStop size={12} aria-hidden />
          {t(outcome.by === 'server' ? 'stoppedWithServer' : 'stopped')}
        </Badge>
      )
    case 'cut': {
      const key = CUT[outcome.reason]
      return (
        <p className="flex flex-wrap items-center gap-2 text-[13px] text-warn">
          <TriangleAlert size={14} aria-hidden />
          {key ? t(key) : t('cutOther', { reason: outcome.reason })}
          {outcome.detail && <span className="text-fg-2">{outcome.detail}</span>}
        </p>
      )
    }
    case 'error':
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
            {failureIn(say, outcome.code, outcome.about) ?? outcome.message}
          </p>
          <div className="mt-2 flex flex-wrap gap-2">
            {onRetry && (
              <Button size="small" onClick={onRetry}>
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
