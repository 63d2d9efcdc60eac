import { onDemand } from '@/components/onDemand'
import { isSkill } from '@/features/inspector/names'
import { useAccess } from '@/features/project/role'
import { guidanceOf } from '@/lib/guidance'
import { useT } from '@/lib/i18n'
import type { Comparing } from '@/stores/buffers'
import type { Reveal } from '@/stores/ui'
import { compare, edit, endComparison, keepMine, loadDisk, saveUnasked } from './actions'
import { BudgetLine } from './BudgetLine'
import { useBudget } from './budget'
import { type Buffer, isDirty, isOfDisk } from './buffer'
import CodeEditor from './CodeEditor'
import { ConflictBanner } from './ConflictBanner'
import { EditorBar } from './EditorBar'
import { MarkdownPreview } from './MarkdownPreview'
import { isMarkdown, usePreview } from './preview'
import { Trust } from './Trust'

const LostProject = onDemand(() => import('./LostProject'))
const SkillBanner = onDemand(() => import('@/features/skills/SkillBanner'))

interface Props {
  buffer: Buffer
  comparing: Comparing | null
  reveal: Reveal | null
  /** A file with instructions whose current version nobody has trusted. */
  untrusted: boolean
}

/** An open file: its bar, tokens, problems and text. */
export default function OpenEditor({ buffer, comparing, reveal, untrusted }: Props) {
  const t = useT()
  const { file } = buffer
  const budget = useBudget(buffer)
  const disk = comparing?.file === file ? comparing.disk : null
  const chosen = usePreview(s => s.view)
  const access = useAccess(file.root)
  const lines = reveal?.file === file ? reveal : null
  // A comparison and lines that are to be shown are in the text.
  const view = !isMarkdown(file) || disk !== null || (lines && chosen === 'preview') ? 'text' : chosen
  return (
    <>
      <EditorBar
        buffer={buffer}
        comparing={disk !== null}
        access={access}
        tokensBelow={budget !== null}
        view={isMarkdown(file) && disk === null ? view : null}
      />
      <BudgetLine file={file} budget={budget} />
      {(untrusted || guidanceOf(file) !== null) && (
        <Trust file={file} etag={buffer.base.etag} typed={isDirty(buffer)} comparing={disk !== null} />
      )}
      {access === 'gone' ? (
        <LostProject file={file} buffer={buffer} />
      ) : (
        <ConflictBanner
          buffer={buffer}
          comparing={disk !== null}
          onCompare={() => (disk === null ? void compare(file) : endComparison(file))}
          onLoadDisk={() => void loadDisk(file)}
          onKeepMine={() => void keepMine(file)}
        />
      )}
      {isSkill(file) && <SkillBanner buffer={buffer} />}
      <div className="min-h-0 flex-1">
        <MarkdownPreview file={file} text={buffer.text} view={view}>
          <CodeEditor
            file={file}
            model={buffer.model}
            text={buffer.text}
            revision={buffer.revision}
            label={t('editorLabel', { path: file.shown })}
            onEdit={text => edit(file, text)}
            onLeave={() => saveUnasked(file)}
            compareWith={disk}
            other={disk === null || isOfDisk(buffer, disk) ? 'disk' : 'earlier'}
            cut={budget?.share === 'each' ? budget.limit : null}
            reveal={lines}
            readOnly={access !== 'write'}
          />
        </MarkdownPreview>
      </div>
    </>
  )
}
