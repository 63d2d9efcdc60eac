import { cn } from '@/lib/cn'
import { type DiffLine, diffLines } from '@/lib/diff'
import { type Key, useT } from '@/lib/i18n'
import { shownPath } from '@/lib/roots'
import { Visible } from './Visible'

const LOOK: Record<DiffLine['kind'], { className: string; sign: string; word: Key | null }> = {
  added: { className: 'bg-ok/10 text-ok', sign: '+', word: 'diffAdded' },
  removed: { className: 'bg-bad/10 text-bad', sign: '−', word: 'diffRemoved' },
  same: { className: '', sign: ' ', word: null },
  file: {
    className: 'mt-1 border-y bg-hover py-0.5 font-sans font-medium text-[13px] first:mt-0',
    sign: '',
    word: null,
  },
  place: { className: 'text-fg-3', sign: ' ', word: null },
}

const FILE = { created: 'approvalCreate', deleted: 'approvalDelete', changed: 'approvalWrite' } as const

/** The diff of one or several files. A sign marks each change, not colour alone. */
export function DiffView({ diff, label }: { diff: string; label: string }) {
  const t = useT()
  return (
    <div
      role="group"
      tabIndex={0}
      aria-label={label}
      className="scroll max-h-96 rounded-md border bg-code py-1 font-mono text-[12px] leading-[1.55]"
    >
      {diffLines(diff).map((line, i) => {
        const { className, sign, word } = LOOK[line.kind]
        const text = line.kind === 'file' ? t(FILE[line.change], { path: shownPath(line.text) }) : line.text
        return (
          <div key={i} className={cn('flex px-2', className)}>
            <span aria-hidden className="w-4 shrink-0 select-none">
              {sign}
            </span>
            {word && <span className="sr-only select-none">{t(word)} </span>}
            <span className="min-w-0 flex-1 whitespace-pre-wrap [overflow-wrap:anywhere]">
              {/* A line without text has the height of a line, and is copied as one. */}
              {text === '' ? <br /> : <Visible text={text} />}
            </span>
          </div>
        )
      })}
    </div>
  )
}
