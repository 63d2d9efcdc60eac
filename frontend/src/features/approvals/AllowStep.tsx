import { CheckCheck } from 'lucide-react'
import { useKeys } from '@/app/hint'
import { Button } from '@/components/ui/Button'
import { ErrorText } from '@/components/ui/ErrorText'
import { Kbd } from '@/components/ui/Kbd'
import { useT } from '@/lib/i18n'
import type { AllowingStep } from './step'

/** Below the cards of a step, so that a person has gone past all of them. */
export function AllowStep({ count, bar, busy, problems, onAllow }: AllowingStep & { count: number }) {
  const t = useT()
  const keys = useKeys('allowStep')
  return (
    <div ref={bar} className="space-y-1.5 rounded-lg border bg-pane-2 px-3 py-2 text-[13px]">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1.5">
        <span className="text-fg-2">{t('stepWaits', { n: count })}</span>
        <Button className="ms-auto" disabled={busy} title={t('allowAllHint')} onClick={onAllow}>
          <CheckCheck size={14} aria-hidden />
          {t('allowAll', { n: count })}
          <span aria-hidden className="flex gap-0.5 pointer-coarse:hidden">
            {keys.map(key => (
              <Kbd key={key}>{key}</Kbd>
            ))}
          </span>
        </Button>
      </div>
      {problems.map(reason => (
        <ErrorText key={reason}>{t('notDone', { reason })}</ErrorText>
      ))}
    </div>
  )
}
