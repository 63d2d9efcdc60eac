import { useEffect, useRef } from 'react'
import { CopyButton } from '@/components/ui/CopyButton'
import { Dialog } from '@/components/ui/Dialog'
import { markIn, showIn } from '@/lib/highlights'
import { useT } from '@/lib/i18n'
import { wordsOf } from '@/lib/needle'
import { useUi } from '@/stores/ui'
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
      <FileText file={file} />
    </Dialog>
  )
}

/** The text of a file. The words of the search in the conversation are marked, and the first one is in view. */
function FileText({ file }: { file: Attachment }) {
  const t = useT()
  const box = useRef<HTMLDivElement>(null)
  const query = useUi(ui => ui.find)
  useEffect(() => {
    const words = wordsOf(query ?? '')
    if (!box.current || words.length === 0) return
    const stops = [markIn(box.current, words, 'found-in-file'), showIn(box.current, words)]
    return () => {
      for (const stop of stops) stop()
    }
  }, [query])
  return (
    <div ref={box}>
      <pre
        tabIndex={0}
        role="group"
        aria-label={file.name}
        data-target
        className="plain scroll max-h-[60dvh] whitespace-pre-wrap rounded-lg border bg-card p-3 [overflow-wrap:anywhere]"
      >
        {file.content === '' ? t('emptyFile') : file.content}
      </pre>
    </div>
  )
}
