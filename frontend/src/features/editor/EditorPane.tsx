import { FileText } from 'lucide-react'
import { onDemand } from '@/components/onDemand'
import { Unreadable } from '@/components/Unreadable'
import { Pending } from '@/components/ui/Skeleton'
import { useT } from '@/lib/i18n'
import { traitsOf } from '@/lib/roots'
import type { OpenFile } from '@/stores/buffers'
import type { Reveal } from '@/stores/ui'
import { Trust } from './Trust'

/** With CodeMirror: half as much again as the page. */
export const OpenEditor = onDemand(() => import('./OpenEditor'), Pending)

const ReadText = onDemand(() => import('@/features/passages/ReadText'), Pending)

interface Props {
  path: string | null
  file: OpenFile | undefined
  comparing: { path: string; disk: string } | null
  reveal: Reveal | null
  /** It is a file of a skill that nobody has trusted as it is. */
  untrusted: boolean
}

export function EditorPane({ path, file, comparing, reveal, untrusted }: Props) {
  const t = useT()
  if (path === null) {
    return (
      <div className="m-auto flex flex-col items-center gap-2 p-6 text-center text-fg-3 text-small">
        <FileText size={22} aria-hidden />
        {t('pickFile')}
      </div>
    )
  }
  if (file?.phase === 'failed') {
    return (
      <>
        {untrusted && <Trust path={path} etag={null} typed={false} comparing={false} />}
        {!file.missing && traitsOf(path)?.searched ? (
          <ReadText path={path} reason={file.reason} />
        ) : (
          <Unreadable reason={file.reason} />
        )}
      </>
    )
  }
  if (file?.phase !== 'open') return <Pending />
  return (
    <OpenEditor key={path} buffer={file.buffer} comparing={comparing} reveal={reveal} untrusted={untrusted} />
  )
}
