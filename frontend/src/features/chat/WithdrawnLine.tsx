import { MessageSquareOff } from 'lucide-react'
import { Button } from '@/components/ui/Button'
import { useT } from '@/lib/i18n'

/** Classes of a message that a person has withdrawn. */
export const WITHDRAWN = 'border-dashed opacity-70'

/** Says that an answer is withdrawn. `onReapply` is null while the session runs. */
export function WithdrawnLine({ onReapply }: { onReapply: (() => void) | null }) {
  const t = useT()
  return (
    <p className="mt-1 flex flex-wrap items-center gap-x-1.5 text-[13px] text-fg-2">
      <MessageSquareOff size={14} aria-hidden className="shrink-0" />
      <span>{t('withdrawn')}</span>
      {onReapply && (
        <>
          <span aria-hidden>·</span>
          <Button size="small" look="ghost" onClick={onReapply}>
            {t('reapply')}
          </Button>
        </>
      )}
    </p>
  )
}
