import { Maximize, ZoomIn, ZoomOut } from 'lucide-react'
import { type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { IconButton } from '@/components/ui/Button'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import type { Attachment, Picture } from '@/thread/model'
import { Thumbnail } from './Thumbnail'

const STEP = 1.5
const MOST = 8
/** How much a turn of the wheel by one pixel enlarges. */
const PER_PIXEL = 1.002

const limited = (scale: number): number => Math.min(MOST, Math.max(1, scale))

/** A picture that fits its dialog, and enlarges by buttons, the wheel, and the keys + − 0. */
export function ZoomPicture({ file, picture }: { file: Attachment; picture: Picture }) {
  const t = useT()
  const [scale, setScale] = useState(1)
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = box.current
    if (!element) return
    // React listens to the wheel passively; the dialog must not scroll as well.
    const onWheel = (event: WheelEvent) => {
      event.preventDefault()
      setScale(now => limited(now * PER_PIXEL ** -event.deltaY))
    }
    element.addEventListener('wheel', onWheel, { passive: false })
    return () => element.removeEventListener('wheel', onWheel)
  }, [])
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    if (event.key === '+' || event.key === '=') setScale(now => limited(now * STEP))
    else if (event.key === '-') setScale(now => limited(now / STEP))
    else if (event.key === '0') setScale(1)
  }
  return (
    <div role="group" aria-label={file.name} onKeyDown={onKeyDown}>
      <div className="flex items-center justify-end gap-1 pb-2">
        <span role="status" className="me-1 text-fg-2 text-small tabular-nums">
          {t('percent', { n: Math.round(scale * 100) })}
        </span>
        <IconButton
          label={t('zoomOut')}
          disabled={scale === 1}
          onClick={() => setScale(limited(scale / STEP))}
        >
          <ZoomOut size={16} aria-hidden />
        </IconButton>
        <IconButton
          label={t('zoomIn')}
          disabled={scale === MOST}
          onClick={() => setScale(limited(scale * STEP))}
        >
          <ZoomIn size={16} aria-hidden />
        </IconButton>
        <IconButton label={t('zoomFit')} disabled={scale === 1} onClick={() => setScale(1)}>
          <Maximize size={16} aria-hidden />
        </IconButton>
      </div>
      <div
        ref={box}
        tabIndex={0}
        role="region"
        aria-label={file.name}
        className="scroll grid max-h-[60dvh] overflow-auto rounded-lg"
      >
        <div style={{ width: `${scale * 100}%` }} className="m-auto">
          <Thumbnail file={file} picture={picture} size={scale === 1 ? 'view' : 'zoomed'} />
        </div>
      </div>
    </div>
  )
}
