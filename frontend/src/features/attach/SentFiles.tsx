import { useT } from '@/lib/i18n'
import type { Attachment } from '@/thread/model'
import { FileChip } from './FileChip'

/** The files that went along with a message. */
export function SentFiles({ files }: { files: readonly Attachment[] }) {
  const t = useT()
  if (files.length === 0) return null
  return (
    <ul aria-label={t('attachedFiles')} className="mb-1 flex flex-wrap justify-end gap-1.5">
      {files.map((file, at) => (
        <li key={at} className="max-w-full">
          <FileChip file={file} />
        </li>
      ))}
    </ul>
  )
}
