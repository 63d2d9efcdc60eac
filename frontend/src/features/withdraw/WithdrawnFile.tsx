import { FileMinus2, FilePen, FilePlus2, Files } from 'lucide-react'
import type { FileUndo } from '@/api/types'
import { DiffView } from '@/components/DiffView'
import { Button } from '@/components/ui/Button'
import { Visible } from '@/components/Visible'
import { type Key, useT } from '@/lib/i18n'
import { shownPath } from '@/lib/roots'
import { hasConflict } from './file'

/** The last work that changed the file later. */
interface Later {
  id: string
  /** Null if it is not loaded. */
  question: string | null
}

interface Props {
  file: FileUndo
  /** Null if none did. */
  later: Later | null
  kept: boolean
  onKeep: (kept: boolean) => void
  onOther: (work: string) => void
}

const EFFECTS: Partial<Record<FileUndo['effect'], { word: Key; Icon: typeof Files; tone: string }>> = {
  deleted: { word: 'withdrawDeletes', Icon: FileMinus2, tone: 'text-bad' },
  created: { word: 'withdrawCreates', Icon: FilePlus2, tone: 'text-ok' },
  changed: { word: 'withdrawChanges', Icon: FilePen, tone: 'text-fg-2' },
}
const SAME = { word: 'withdrawSame', Icon: Files, tone: 'text-fg-3' } as const

/** One file of a work that is to be withdrawn: what becomes of it, or what is in the way. */
export function WithdrawnFile({ file, later, kept, onKeep, onOther }: Props) {
  const t = useT()
  const { diff, effect } = file
  const path = shownPath(file.path)
  const { word, Icon, tone } = EFFECTS[effect] ?? SAME
  const conflict = hasConflict(file)
  return (
    <section aria-label={path} className="text-[13px]">
      <h3 className="mb-1 flex flex-wrap items-center gap-x-2 font-normal">
        <Icon size={14} aria-hidden className={`shrink-0 ${tone}`} />
        <span className="min-w-0 truncate font-mono text-[12px]">
          <Visible text={path} />
        </span>
        <span className={kept ? 'text-fg-3' : tone}>{t(kept ? 'withdrawKept' : word)}</span>
      </h3>
      {conflict && (
        <div className="mb-1 space-y-1">
          <p className="text-warn">
            {later
              ? t('withdrawLater', { question: later.question ?? t('untitled') })
              : t(file.not_kept === true ? 'withdrawNotKept' : 'withdrawChanged')}
          </p>
          <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <label className="flex min-h-7 items-center gap-2 pointer-coarse:min-h-9">
              <input type="checkbox" checked={kept} onChange={event => onKeep(event.target.checked)} />
              {t('withdrawKeep')}
              <span className="sr-only"> {path}</span>
            </label>
            {later && (
              <Button size="small" onClick={() => onOther(later.id)}>
                {t('withdrawOther')}
              </Button>
            )}
          </div>
        </div>
      )}
      {!kept && diff != null && diff !== '' && <DiffView diff={diff} label={t('undoDiff', { path })} />}
    </section>
  )
}
