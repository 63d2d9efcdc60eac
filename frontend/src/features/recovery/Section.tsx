import { type ReactNode, useId } from 'react'
import { QueryError } from '@/components/ui/QueryError'
import { Skeleton } from '@/components/ui/Skeleton'
import { useT } from '@/lib/i18n'

interface Props {
  title: string
  /** Undefined until loaded. */
  count: number | undefined
  /** Why it could not be read. */
  error: unknown
  /** Text for an empty section. */
  none: string
  /** How long the items are kept. */
  kept?: string | undefined
  children: ReactNode
}

export function Section({ title, count, error, none, kept, children }: Props) {
  const t = useT()
  const id = useId()
  return (
    <section aria-labelledby={id}>
      <h3 id={id} className="mb-1 font-semibold text-[13.5px]">
        {title}
      </h3>
      {count === undefined &&
        (error ? <QueryError error={error} /> : <Skeleton label={t('loading')} rows={3} />)}
      {count === 0 && <p className="text-fg-3 text-small">{none}</p>}
      {count !== undefined && count > 0 && kept && <p className="mb-1.5 text-fg-3 text-small">{kept}</p>}
      <ul className="space-y-1.5">{children}</ul>
    </section>
  )
}
