import { CopyButton } from '@/components/ui/CopyButton'
import { Dialog } from '@/components/ui/Dialog'
import { useT } from '@/lib/i18n'
import type { Attachment } from '@/thread/model'
import { ZoomPicture } from './ZoomPicture'

/** Shows the content of a file: plain text to read and copy, or a picture. */
export default function ViewFile({ file, onClose }: { file: Attachment; onClose: () => void }) {
  const t = useT()
  const { picture } = file
  if (picture)
    return (
      <Dialog open onOpenChange={open => open || onClose()} title={file.name} size="widest">
        <p className="pb-2 text-fg-2 text-small">
          {t('pictureSize', { width: `${picture.width}`, height: `${picture.height}` })} · {t('viewFileHint')}
        </p>
        <ZoomPicture file={file} picture={picture} />
      </Dialog>
    )
  return (
    <Dialog open onOpenChange={open => open || onClose()} title={file.name} size="widest">
      <div className="flex items-center justify-between gap-2 pb-1 text-fg-2 text-small">
        <span>{t('viewFileHint')}</span>
        <CopyButton label={t('copy')} words={t('copy')} text={() => file.content} />
      </div>
      <pre
        tabIndex={0}
        role="group"
        aria-label={file.name}
        className="plain scroll max-h-[60dvh] whitespace-pre-wrap rounded-lg border bg-card p-3 [overflow-wrap:anywhere]"
      >
        {file.content === '' ? t('emptyFile') : file.content}
      </pre>
    </Dialog>
  )
}
