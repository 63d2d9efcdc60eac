import { useVirtualizer } from '@tanstack/react-virtual'
import { useState } from 'react'
import type { RehearsedChange } from '@/api/types'
import { Disclosure } from '@/components/ui/Disclosure'
import { Visible } from '@/components/Visible'
import { ChangeContent } from '@/features/changes/ChangeContent'
import { KindLetter } from '@/features/changes/KindLetter'
import { KINDS, modeChange } from '@/features/changes/kinds'
import { LineCounts } from '@/features/changes/LineCounts'
import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'
import { shownPath } from '@/lib/roots'

interface Props {
  approvalId: string
  files: readonly RehearsedChange[]
}

/** Pixels: the height of a folded row, and of the list before it scrolls: larger if a file is open. */
const rowHeight = () => (matchMedia('(pointer: coarse)').matches ? 44 : 28)
const TALLEST = { folded: 260, open: 460 }
const VIEW = { layout: 'inline', whole: false } as const

/** The height of a list of `n` folded rows with its border, so that nothing moves when the list arrives. */
export const heightOf = (n: number): number => Math.min(n * rowHeight(), TALLEST.folded) + 2

/** Every file that would change, in the order of the server: the deleted ones first. Only rows in view are rendered. */
export function Effects({ approvalId, files }: Props) {
  const t = useT()
  const [scroller, setScroller] = useState<HTMLElement | null>(null)
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set())
  const list = useVirtualizer({
    count: files.length,
    getScrollElement: () => scroller,
    estimateSize: rowHeight,
    getItemKey: at => files[at]?.path ?? at,
    overscan: 8,
    initialRect: { width: 400, height: TALLEST.folded },
  })
  const toggle = (path: string, opened: boolean) => {
    const next = new Set(open)
    if (opened) next.add(path)
    else next.delete(path)
    setOpen(next)
  }
  const tallest = open.size > 0 ? TALLEST.open : TALLEST.folded
  const height = Math.min(list.getTotalSize(), tallest) + 2
  return (
    <div ref={setScroller} style={{ height }} className="scroll overflow-y-auto rounded-md border bg-card">
      <ul aria-label={t('changesFiles')} className="relative" style={{ height: `${list.getTotalSize()}px` }}>
        {list.getVirtualItems().map(({ index, key, start }) => {
          const file = files[index]
          return (
            file && (
              <li
                key={key}
                ref={list.measureElement}
                data-index={index}
                aria-posinset={index + 1}
                aria-setsize={files.length}
                className="absolute inset-x-0 top-0"
                style={{ transform: `translateY(${start}px)` }}
              >
                <Effect
                  approvalId={approvalId}
                  file={file}
                  open={open.has(file.path)}
                  onToggle={opened => toggle(file.path, opened)}
                />
              </li>
            )
          )
        })}
      </ul>
    </div>
  )
}

interface EffectProps {
  approvalId: string
  file: RehearsedChange
  open: boolean
  onToggle: (open: boolean) => void
}

/** One file: what would happen to it, and its content when it is opened. */
function Effect({ approvalId, file, open, onToggle }: EffectProps) {
  const t = useT()
  const mode = modeChange(file)
  const { content } = file.after ?? file.before ?? {}
  return (
    <Disclosure
      open={open}
      onToggle={onToggle}
      summaryClass="min-h-7 px-2 outline-offset-[-2px] hover:bg-hover"
      summary={
        <>
          <KindLetter kind={file.kind} />
          <span className="sr-only">{t(KINDS[file.kind].word)}</span>
          <span
            title={shownPath(file.path)}
            className={cn(
              'min-w-0 flex-1 break-all py-1 font-mono text-[12px]',
              file.kind === 'deleted' && 'line-through',
            )}
          >
            <Visible text={shownPath(file.path)} />
          </span>
          {content === 'folder' && <span className="text-fg-3 text-small">{t('changeFolder')}</span>}
          {content === 'link' && <span className="text-fg-3 text-small">{t('changeIsLink')}</span>}
          {mode && <span className="shrink-0 text-small text-warn">{t(mode)}</span>}
          {content !== 'link' && (file.added || file.removed) ? <LineCounts file={file} /> : null}
        </>
      }
    >
      <div className="scroll max-h-96 overflow-y-auto border-y bg-pane-2 p-2">
        <ChangeContent source={{ approvalId }} file={file} view={VIEW} />
      </div>
    </Disclosure>
  )
}
