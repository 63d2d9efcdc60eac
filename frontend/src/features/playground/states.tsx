import type { ReactNode } from 'react'
import { Button } from '@/components/ui/Button'
import { useT } from '@/lib/i18n'

export const Notice = ({ children }: { children: ReactNode }) => (
  <p className="mx-auto max-w-[52ch] px-6 py-10 text-center text-[13px] text-fg-2">{children}</p>
)

export function Failure({ reason, onRetry }: { reason: string; onRetry: () => void }) {
  const t = useT()
  return (
    <div role="alert" className="flex flex-col items-center gap-3 px-6 py-10 text-[13px]">
      <p className="max-w-[52ch] text-center text-bad [overflow-wrap:anywhere]">{t('notDone', { reason })}</p>
      <Button onClick={onRetry}>{t('retry')}</Button>
    </div>
  )
}
