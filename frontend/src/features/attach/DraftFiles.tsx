import { TextCursorInput } from 'lucide-react'
import { IconButton } from '@/components/ui/Button'
import { useT } from '@/lib/i18n'
import type { DraftFile } from '@/stores/attachments'
import { FileChip } from './FileChip'
import { RemoveFile } from './RemoveFile'

interface Props {
  files: readonly DraftFile[]
  /** The browser's storage has no room for them: a reload loses them. */
  unkept: boolean
  /** Tokens of the next request with these files, if they exceed the context window. */
  tooMuch: { tokens: number; window: number } | null
  onRemove: (id: string) => void
  onInsert: (file: DraftFile) => void
}

/** The files attached to the unsent message. */
export default function DraftFiles({ files, unkept, tooMuch, onRemove, onInsert }: Props) {
  const t = useT()
  return (
    <div className="scroll max-h-40 px-1 pt-0.5 pb-1.5">
      <ul aria-label={t('attachedFiles')} className="flex flex-wrap gap-1.5">
        {files.map(file => (
          <li key={file.id} className="max-w-full">
            <FileChip file={file} tokens={file.tokens}>
              {file.pasted && (
                <IconButton label={t('insertAsText')} size="smallIcon" onClick={() => onInsert(file)}>
                  <TextCursorInput size={13} aria-hidden />
                </IconButton>
              )}
              <RemoveFile name={file.name} onRemove={() => onRemove(file.id)} />
            </FileChip>
          </li>
        ))}
      </ul>
      {tooMuch && (
        <p role="status" className="px-1 pt-1 text-meta text-warn">
          {t('filesTooLong', { n: tooMuch.tokens, of: tooMuch.window })}
        </p>
      )}
      {unkept && <p className="px-1 pt-1 text-fg-2 text-meta">{t('filesNotKept')}</p>}
    </div>
  )
}
