import { type ReactNode, type UIEvent, useDeferredValue, useRef } from 'react'
import { Markdown } from '@/components/markdown/Markdown'
import { onDemand } from '@/components/onDemand'
import { Pending } from '@/components/ui/Skeleton'
import { useT } from '@/lib/i18n'
import { type FileRef, isProject } from '@/lib/roots'
import { followScroll, previewed, type View } from './preview'
import '@/lib/later'

const NotePreview = onDemand(() => import('@/features/notes/NotePreview'), Pending)

interface Props {
  file: FileRef
  text: string
  view: View
  /** The text editor, which is shown unless only the preview is. */
  children: ReactNode
}

/** A file's text, its preview, or both: side by side if the pane is wide enough, else one above the other. */
export function MarkdownPreview({ file, text, view, children }: Props) {
  const t = useT()
  const preview = useRef<HTMLElement>(null)
  const shown = useDeferredValue(text)
  const onScroll = ({ target }: UIEvent) => {
    if (preview.current && target instanceof HTMLElement && target.matches('.cm-scroller'))
      followScroll(target, preview.current)
  }
  return (
    <div className="@container h-full">
      <div className="flex h-full flex-col @xl:flex-row" onScrollCapture={onScroll}>
        {view !== 'preview' && <div className="min-h-0 min-w-0 flex-1 basis-0">{children}</div>}
        {view !== 'text' && (
          <section
            ref={preview}
            tabIndex={0}
            aria-label={t('previewOf', { path: file.shown })}
            className={`scroll min-h-0 min-w-0 flex-1 basis-0 px-4 py-3 text-[13px] outline-offset-[-2px] ${view === 'both' ? 'border-t @xl:border-t-0 @xl:border-l' : ''}`}
          >
            {isProject(file.root) ? (
              <NotePreview file={file} text={shown} />
            ) : (
              <Markdown text={previewed(shown)} />
            )}
          </section>
        )}
      </div>
    </div>
  )
}
