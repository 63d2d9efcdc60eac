import { FileText } from 'lucide-react'
import { type ComponentProps, lazy, Suspense } from 'react'
import { Skeleton } from '@/components/ui/Skeleton'
import { useT } from '@/lib/i18n'
import type { OpenFile } from '@/stores/buffers'
import type { Reveal } from '@/stores/ui'
import { compare, edit, endComparison, keepMine, loadDisk, save } from './actions'
import { BudgetLine } from './BudgetLine'
import { useBudget } from './budget'
import { type Buffer, isDirty } from './buffer'
import { ConflictBanner } from './ConflictBanner'
import { EditorBar } from './EditorBar'

const CodeEditor = lazy(() => import('./CodeEditor'))
const TrustBanner = lazy(() => import('./TrustBanner'))

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
        <p className="m-auto p-6 text-center text-bad text-small">
          {t('fileProblem', { reason: file.reason })}
        </p>
      </>
    )
  }
  if (file?.phase !== 'open') return <Skeleton label={t('loading')} rows={4} />
  return (
    <OpenEditor key={path} buffer={file.buffer} comparing={comparing} reveal={reveal} untrusted={untrusted} />
  )
}

function Trust(props: ComponentProps<typeof TrustBanner>) {
  return (
    <Suspense fallback={null}>
      <TrustBanner {...props} />
    </Suspense>
  )
}

type OpenProps = Pick<Props, 'comparing' | 'reveal' | 'untrusted'> & { buffer: Buffer }

function OpenEditor({ buffer, comparing, reveal, untrusted }: OpenProps) {
  const t = useT()
  const { path } = buffer
  const budget = useBudget(path, buffer.text)
  const disk = comparing?.path === path ? comparing.disk : null
  return (
    <>
      <EditorBar
        buffer={buffer}
        comparing={disk !== null}
        onCompare={() => (disk === null ? void compare(path) : endComparison(path))}
        onSave={() => void save(path)}
      />
      <BudgetLine budget={budget} />
      {untrusted && (
        <Trust path={path} etag={buffer.base.etag} typed={isDirty(buffer)} comparing={disk !== null} />
      )}
      <ConflictBanner
        buffer={buffer}
        comparing={disk !== null}
        onCompare={() => (disk === null ? void compare(path) : endComparison(path))}
        onLoadDisk={() => void loadDisk(path)}
        onKeepMine={() => void keepMine(path)}
      />
      <div className="min-h-0 flex-1">
        <Suspense fallback={<Skeleton label={t('loading')} rows={4} />}>
          <CodeEditor
            path={path}
            text={buffer.text}
            revision={buffer.revision}
            label={t('editorLabel', { path })}
            onEdit={text => edit(path, text)}
            onSave={() => void save(path)}
            compareWith={disk}
            cut={budget?.share === 'each' ? budget.limit : null}
            reveal={reveal?.path === path ? reveal : null}
          />
        </Suspense>
      </div>
    </>
  )
}
