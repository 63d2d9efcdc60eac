import { useChangedText } from '@/api/changeQueries'
import type { ChangeSource } from '@/api/endpoints'
import { onDemand } from '@/components/onDemand'
import { QueryError } from '@/components/ui/QueryError'
import { Skeleton } from '@/components/ui/Skeleton'
import { useT } from '@/lib/i18n'
import type { ShownChange } from './kinds'
import type { View } from './TextDiff'

const TextDiff = onDemand(() => import('./TextDiff'))

interface Props {
  source: ChangeSource
  file: ShownChange
  view: View
}

/** The difference between the two versions of a text. */
export function TextChange({ source, file, view }: Props) {
  const t = useT()
  const { path } = file
  const before = useChangedText(source, { path, side: 'before' }, file.before?.hash ?? null)
  const after = useChangedText(source, { path, side: 'after' }, file.after?.hash ?? null)
  const error = before.error ?? after.error
  if (error) return <QueryError error={error} />
  if (before.data === undefined || after.data === undefined) return <Skeleton label={t('loading')} rows={6} />
  if (file.before?.hash === file.after?.hash)
    return <p className="text-[13px] text-fg-2">{t('changeSameText')}</p>
  return <TextDiff path={path} before={before.data} after={after.data} view={view} />
}
