import { useT } from '@/lib/i18n'
import type { Reveal } from '@/stores/ui'
import { compare, edit, endComparison, keepMine, loadDisk, save, saveUnasked } from './actions'
import { BudgetLine } from './BudgetLine'
import { useBudget } from './budget'
import { type Buffer, isDirty, isOfDisk } from './buffer'
import CodeEditor from './CodeEditor'
import { ConflictBanner } from './ConflictBanner'
import { EditorBar } from './EditorBar'
import { Trust } from './Trust'

interface Props {
  buffer: Buffer
  comparing: { path: string; disk: string } | null
  reveal: Reveal | null
  /** It is a file of a skill that nobody has trusted as it is. */
  untrusted: boolean
}

/** A file that is open: its bar, what it costs, what is wrong with it, and its text. */
export default function OpenEditor({ buffer, comparing, reveal, untrusted }: Props) {
  const t = useT()
  const { path } = buffer
  const budget = useBudget(buffer)
  const disk = comparing?.path === path ? comparing.disk : null
  return (
    <>
      <EditorBar
        buffer={buffer}
        comparing={disk !== null}
        tokensBelow={budget !== null}
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
        <CodeEditor
          path={path}
          model={buffer.model}
          text={buffer.text}
          revision={buffer.revision}
          label={t('editorLabel', { path })}
          onEdit={text => edit(path, text)}
          onLeave={() => saveUnasked(path)}
          compareWith={disk}
          other={disk === null || isOfDisk(buffer, disk) ? 'disk' : 'earlier'}
          cut={budget?.share === 'each' ? budget.limit : null}
          reveal={reveal?.path === path ? reveal : null}
        />
      </div>
    </>
  )
}
