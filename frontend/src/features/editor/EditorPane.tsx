import { FileText } from 'lucide-react'
import { useEffect, useRef } from 'react'
import { onDemand } from '@/components/onDemand'
import { Unreadable } from '@/components/Unreadable'
import { Placeholder } from '@/components/ui/Placeholder'
import { Pending } from '@/components/ui/Skeleton'
import { useGone } from '@/features/project/gone'
import { useT } from '@/lib/i18n'
import { type FileRef, isProject, isSearchFolder } from '@/lib/roots'
import type { Comparing, OpenFile } from '@/stores/buffers'
import type { Reveal } from '@/stores/ui'
import { folderChanged } from './actions'
import { Trust } from './Trust'

/** Loaded on demand: CodeMirror would make the page half as large again. */
export const OpenEditor = onDemand(() => import('./OpenEditor'), Pending)

const ProjectFileView = onDemand(() => import('./ProjectFileView'), Pending)
const LostProject = onDemand(() => import('./LostProject'), Pending)
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
  const gone = useGone(file?.root ?? null)
  useReturn(file, gone)
  if (file === null) {
    return <Placeholder icon={FileText}>{t('pickFile')}</Placeholder>
  }
  if (gone && state?.phase !== 'open') return <LostProject file={file} buffer={null} />
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

/** Reads the open files of a project again when it comes back: it was restored, or is shared again. */
function useReturn(file: FileRef | null, gone: boolean): void {
  const root = file?.root
  const before = useRef({ root, gone })
  useEffect(() => {
    const { current } = before
    if (root && current.root === root && current.gone && !gone) void folderChanged(root)
    before.current = { root, gone }
  }, [root, gone])
}
