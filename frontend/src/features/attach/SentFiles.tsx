import { useT } from '@/lib/i18n'
import type { Attachment } from '@/thread/model'
import { FileChip } from './FileChip'
import { RemoveFile } from './RemoveFile'

interface Props {
  files: readonly Attachment[]
  /** Given while the message is being edited: some of its files may be removed. */
  onRemove?: (file: Attachment) => void
}

/** The files attached to a message. */
export function SentFiles({ files, onRemove }: Props) {
  const t = useT()
  if (files.length === 0) return null
  return (
    <ul aria-label={t('attachedFiles')} className="mb-1 flex flex-wrap justify-end gap-1.5">
      {files.map((file, at) => (
        <li key={at} className="max-w-full">
          <FileChip file={file}>
            {onRemove && <RemoveFile name={file.name} onRemove={() => onRemove(file)} />}
          </FileChip>
        </li>
      ))}
    </ul>
  )
}
