import type { ReactNode } from 'react'
import { QueryError } from '@/components/ui/QueryError'
import { Skeleton } from '@/components/ui/Skeleton'
import { useT } from '@/lib/i18n'
import '@/lib/later'

interface Props<File> {
  /** A run is under way, so nothing can be taken back. */
  busy: boolean
  error: unknown
  /** Absent while they are being read. */
  files: readonly File[] | undefined
  /** Said if there are none. */
  nothing: string
  children: (file: File) => ReactNode
}

/** Shows what would become of each file, or why that is not known. */
export function FilePreviews<File extends { path: string }>(props: Props<File>) {
  const { busy, error, files, nothing, children } = props
  const t = useT()
  if (busy)
    return (
      <p role="status" className="text-[13px] text-warn">
        {t('undoBusy')}
      </p>
    )
  if (error) return <QueryError error={error} />
  if (!files) return <Skeleton label={t('loading')} rows={4} />
  if (files.length === 0) return <p className="text-[13px] text-fg-2">{nothing}</p>
  return (
    <ul className="space-y-3">
      {files.map(file => (
        <li key={file.path}>{children(file)}</li>
      ))}
    </ul>
  )
}
