import { useT } from '@/lib/i18n'
import { useUi } from '@/stores/ui'
import { matcher } from '@/thread/find'
import type { Attachment } from '@/thread/model'
import { FileChip } from './FileChip'
import { RemoveFile } from './RemoveFile'

interface Props {
  files: readonly Attachment[]
  /** Id of the message in its conversation. */
  message?: string
  /** Given while the message is being edited: some of its files may be removed. */
  onRemove?: (file: Attachment) => void
}

/** The place of the file to which a search in all conversations led; -1 if it led elsewhere. */
function useSought(files: readonly Attachment[], message?: string): number {
  const name = useUi(ui => (ui.findAt === message ? ui.findFile : null))
  const query = useUi(ui => ui.find)
  if (name === null) return -1
  const has = matcher(query ?? '')
  return files.findIndex(file => file.name === name && has?.(file.content))
}

/** The files attached to a message. */
export function SentFiles({ files, message, onRemove }: Props) {
  const t = useT()
  const sought = useSought(files, message)
  if (files.length === 0) return null
  return (
    <ul aria-label={t('attachedFiles')} className="mb-1 flex flex-wrap justify-end gap-1.5">
      {files.map((file, at) => (
        <li key={at} className="max-w-full">
          <FileChip file={file} sought={at === sought}>
            {onRemove && <RemoveFile name={file.name} onRemove={() => onRemove(file)} />}
          </FileChip>
        </li>
      ))}
    </ul>
  )
}
