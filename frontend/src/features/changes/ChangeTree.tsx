import { ChevronRight, TriangleAlert } from 'lucide-react'
import { useMemo, useState } from 'react'
import type { ChangedFile } from '@/api/types'
import { Visible } from '@/components/Visible'
import { useTreeRows } from '@/features/inspector/useTreeRows'
import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'
import { shownPath } from '@/lib/roots'
import { KindLetter } from './KindLetter'
import { KINDS } from './kinds'
import { LineCounts } from './LineCounts'
import { type ChangeRow, changeRows } from './tree'

interface Props {
  files: readonly ChangedFile[]
  /** The path of the file that is shown. */
  current: string | null
  /** The path of the file that gets the focus when the tree appears; null for none. */
  focused: string | null
  /** The element in which the tree scrolls. */
  scroller: HTMLElement | null
  onSelect: (file: ChangedFile) => void
}

/** The changed files by folders. All folders are open at first. */
export function ChangeTree({ files, current, focused, scroller, onSelect }: Props) {
  const t = useT()
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set())
  const rows = useMemo(() => changeRows(files, folder => !closed.has(folder)), [files, closed])
  const act = (row: ChangeRow) => {
    if (row.kind === 'file') return row.file ? onSelect(row.file) : undefined
    const next = new Set(closed)
    if (!next.delete(row.path)) next.add(row.path)
    setClosed(next)
  }
  const { tree, list, above, stop, setActive, onKeyDown } = useTreeRows({
    rows,
    scroller,
    current,
    focused,
    act,
  })
  return (
    <div
      ref={tree}
      role="tree"
      aria-label={t('changesFiles')}
      className="relative"
      style={{ height: `${list.getTotalSize()}px` }}
    >
      {list.getVirtualItems().map(({ index: at, key, start }) => {
        const row = rows[at]
        return (
          row && (
            <div
              key={key}
              ref={list.measureElement}
              data-index={at}
              style={{
                transform: `translateY(${start - above}px)`,
                paddingInlineStart: `${row.level * 14 - 6}px`,
              }}
              role="treeitem"
              aria-level={row.level}
              aria-posinset={row.position}
              aria-setsize={row.siblings}
              aria-expanded={row.kind === 'folder' ? row.open : undefined}
              aria-selected={row.path === current}
              tabIndex={at === stop ? 0 : -1}
              title={shownPath(row.path)}
              onFocus={() => setActive(row.path)}
              onKeyDown={event => onKeyDown(event, row, at)}
              onClick={() => act(row)}
              className={cn(
                'absolute inset-x-0 top-0 flex cursor-default items-center gap-2 rounded-md py-1 pe-2 text-[13px] outline-offset-[-2px] touch-row',
                row.path === current ? 'bg-sel' : 'hover:bg-hover focus:bg-hover',
              )}
            >
              {row.kind === 'file' && row.file ? (
                <FileRow file={row.file} name={row.name} />
              ) : (
                <FolderRow row={row} />
              )}
            </div>
          )
        )
      })}
    </div>
  )
}

function FileRow({ file, name }: { file: ChangedFile; name: string }) {
  const t = useT()
  return (
    <>
      <KindLetter kind={file.kind} />
      <span className={cn('min-w-0 flex-1 truncate', file.kind === 'deleted' && 'line-through')}>
        <Visible text={name} />
      </span>
      <span className="sr-only">{t(KINDS[file.kind].word)}</span>
      {file.changed_since && (
        <TriangleAlert size={13} aria-label={t('changeUndoChanged')} className="shrink-0 text-warn" />
      )}
      <LineCounts file={file} />
    </>
  )
}

function FolderRow({ row: { name, open, count, file } }: { row: ChangeRow }) {
  const t = useT()
  return (
    <>
      <ChevronRight
        size={14}
        aria-hidden
        className={cn('shrink-0 text-fg-3 transition-transform', open && 'rotate-90')}
      />
      {file && <KindLetter kind={file.kind} />}
      <span className={cn('min-w-0 flex-1 truncate', file?.kind === 'deleted' && 'line-through')}>
        <Visible text={name} />
      </span>
      {file && <span className="sr-only">{t(KINDS[file.kind].word)}</span>}
      <span className="shrink-0 text-fg-3 text-meta tabular-nums">{count}</span>
    </>
  )
}
