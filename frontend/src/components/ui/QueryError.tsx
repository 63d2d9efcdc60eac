import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'
import { Button } from './Button'
import { ErrorText } from './ErrorText'

interface Props {
  error: unknown
  /** Reads again. If given, the error is centred in its pane. */
  onRetry?: () => void
  className?: string
}

/** Shown in place of data that could not be read from the server. */
export function QueryError({ error, onRetry, className }: Props) {
  const t = useT()
  const words = t('loadFailed', { reason: reasonOf(error) })
  if (!onRetry) return <ErrorText className={className}>{words}</ErrorText>
  return (
    <div className={cn('flex flex-col items-center gap-3 px-6 py-10', className)}>
      <ErrorText className="max-w-[52ch] text-center">{words}</ErrorText>
      <Button onClick={onRetry}>{t('retry')}</Button>
    </div>
  )
}
