import { cn } from '@/lib/cn'
import { type DiffLine, diffLines } from '@/lib/diff'
import { type Key, useT } from '@/lib/i18n'
import { Visible } from './Visible'

const LOOK: Record<DiffLine['kind'], { className: string; sign: string; word: Key | null }> = {
  added: { className: 'bg-ok/10 text-ok', sign: '+', word: 'diffAdded' },
  removed: { className: 'bg-bad/10 text-bad', sign: '−', word: 'diffRemoved' },
  same: { className: '', sign: ' ', word: null },
  place: { className: 'text-fg-3', sign: ' ', word: null },
}

/** The diff of a file. A sign marks each change, not colour alone. */
export function DiffView({ diff, label }: { diff: string; label: string }) {
  const t = useT()
  return (
    <div
      role="group"
      tabIndex={0}
      aria-label={label}
      className="scroll max-h-96 rounded-md border bg-code py-1 font-mono text-[12px] leading-[1.55]"
    >
      {diffLines(diff).map(({ kind, text }, i) => {
        const { className, sign, word } = LOOK[kind]
        return (
          <div key={i} className={cn('flex px-2', className)}>
            <span aria-hidden className="w-4 shrink-0 select-none">
              {sign}
            </span>
            {word && <span className="sr-only">{t(word)} </span>}
            <span className="min-w-0 flex-1 whitespace-pre-wrap [overflow-wrap:anywhere]">
              <Visible text={text} />
            </span>
          </div>
        )
      })}
    </div>
  )
}
