import { ImageOff } from 'lucide-react'
import { useState } from 'react'
import { useT } from '@/lib/i18n'
import type { Attachment, Picture } from '@/thread/model'
import { within } from './limits'

/** Maximum pixels of the longer side. */
const LONGEST = { draft: 40, sent: 240, view: 1568, zoomed: 1568 }

interface Props {
  file: Attachment
  picture: Picture
  size: keyof typeof LONGEST
}

/** A picture, or a note that it is gone. Its space is reserved before it loads, so that nothing moves. */
export function Thumbnail({ file, picture, size }: Props) {
  const t = useT()
  const [gone, setGone] = useState(false)
  if (gone)
    return (
      <span className="inline-flex items-center gap-1.5 px-1 text-fg-2 [overflow-wrap:anywhere]">
        <ImageOff size={14} aria-hidden className="shrink-0" />
        {t('pictureGone', { name: file.name })}
      </span>
    )
  return (
    <img
      src={picture.kept?.url ?? `data:${picture.type};base64,${file.content}`}
      alt={file.name}
      {...within(picture.width, picture.height, LONGEST[size])}
      decoding="async"
      onError={() => setGone(true)}
      className={
        size === 'view'
          ? 'mx-auto h-auto max-h-[60dvh] max-w-full object-contain'
          : size === 'zoomed'
            ? 'h-auto w-full max-w-none'
            : 'h-auto max-w-full rounded-sm'
      }
    />
  )
}
