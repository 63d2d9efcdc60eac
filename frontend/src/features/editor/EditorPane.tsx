import { FileText } from 'lucide-react'
import { onDemand } from '@/components/onDemand'
import { Unreadable } from '@/components/Unreadable'
import { Placeholder } from '@/components/ui/Placeholder'
import { Pending } from '@/components/ui/Skeleton'
import { useT } from '@/lib/i18n'
import { type FileRef, isProject, isSearchFolder } from '@/lib/roots'
import type { Comparing, OpenFile } from '@/stores/buffers'
import type { Reveal } from '@/stores/ui'
import { Trust } from './Trust'

/** Loaded on demand: CodeMirror would make the page half as large again. */
export const OpenEditor = onDemand(() => import('./OpenEditor'), Pending)

const ProjectFileView = onDemand(() => import('./ProjectFileView'), Pending)
const ReadText = onDemand(() => import('@/features/passages/ReadText'), Pending)

interface Props {
  file: FileRef | null
  state: OpenFile | undefined
  comparing: Comparing | null
  reveal: Reveal | null
  /** A skill file whose current version nobody has trusted. */
  untrusted: boolean
}

export function EditorPane({ file, state, comparing, reveal, untrusted }: Props) {
  const t = useT()
  if (file === null) {
    return <Placeholder icon={FileText}>{t('pickFile')}</Placeholder>
  }
  if (state?.phase === 'failed') {
    return (
      <>
        {untrusted && <Trust file={file} etag={null} typed={false} comparing={false} />}
        {!state.missing && isProject(file.root) ? (
          <ProjectFileView key={`${file}`} file={file} reason={state.binary ? null : state.reason} />
        ) : !state.missing && isSearchFolder(file.root) ? (
          <ReadText path={`${file}`} reason={state.reason} />
        ) : (
          <Unreadable reason={state.reason} />
        )}
      </>
    )
  }
  if (state?.phase !== 'open') return <Pending />
  return (
    <OpenEditor
      key={`${file}`}
      buffer={state.buffer}
      comparing={comparing}
      reveal={reveal}
      untrusted={untrusted}
    />
  )
}
