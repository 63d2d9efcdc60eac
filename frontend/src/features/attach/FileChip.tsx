import { FileText } from 'lucide-react'
import { type ReactNode, useRef, useState } from 'react'
import { onDemand } from '@/components/onDemand'
import { kilobytes } from '@/lib/format'
import { useT } from '@/lib/i18n'
import { useUi } from '@/stores/ui'
import type { Attachment } from '@/thread/model'
import { bytesOf } from './limits'
import { Thumbnail } from './Thumbnail'

const ViewFile = onDemand(() => import('./ViewFile'))

interface Props {
  file: Attachment
  /** Tokens of a file that is not sent yet; null if unknown. */
  tokens?: number | null
  /** A search led to the file, which is shown until it is closed. */
  sought?: boolean
  /** Further actions. */
  children?: ReactNode
}

/** A file by its name and size, a sent picture as a thumbnail; a click shows the content. */
export function FileChip({ file, tokens, sought = false, children }: Props) {
  const t = useT()
  const [open, setOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  const close = () => {
    setOpen(false)
    if (sought) useUi.setState({ findFile: null })
    requestAnimationFrame(() => button.current?.focus())
  }
  const { picture } = file
  const alone = picture !== undefined && tokens === undefined
  const bytes = picture ? picture.bytes : bytesOf(file.content)
  const size = bytes < 1024 ? t('bytes', { n: bytes }) : kilobytes(bytes)
  const cost = tokens == null ? '' : ` · ${t('fileTokens', { n: tokens })}`
  return (
    <span className="inline-flex max-w-full items-center rounded-lg border bg-card text-fg text-small">
      <button
        ref={button}
        type="button"
        title={t('viewFile', { name: file.name })}
        className="flex min-h-7 min-w-0 items-center gap-1.5 rounded-lg px-2 py-1 text-start hover:bg-hover pointer-coarse:min-h-10"
        onClick={() => setOpen(true)}
      >
        {picture ? (
          <Thumbnail file={file} picture={picture} size={alone ? 'sent' : 'draft'} />
        ) : (
          <FileText size={14} aria-hidden className="shrink-0 text-fg-3" />
        )}
        {!alone && (
          <>
            <span className="min-w-0 truncate font-medium">
              <bdi>{file.name}</bdi>
            </span>
            <span className="shrink-0 text-fg-2 text-meta tabular-nums">
              {size}
              {cost}
            </span>
          </>
        )}
      </button>
      {children}
      {(open || sought) && <ViewFile file={file} onClose={close} />}
    </span>
  )
}
