import { useEffect, useId, useMemo } from 'react'
import { preloadFolder } from '@/api/queries'
import type { FileEntry } from '@/api/types'
import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'
import { createsSkills, type FileRef, foldersOf, isBelow, type Root, shownPath } from '@/lib/roots'
import { setFold, useFoldsByHand } from '@/stores/folds'
import type { FileActions } from './FileMenu'
import { FileTreeRow, fileOf } from './FileTreeRow'
import type { FolderActions } from './FolderMenu'
import { rootWords } from './names'
import { type FolderOf, type TreeRow, treeRows } from './tree'
import { foldId } from './useTree'
import { useTreeRows } from './useTreeRows'

interface Props {
  folderOf: FolderOf
  /** The problem with a file, or null. */
  problemOf: (file: FileEntry) => string | null
  /** The element in which the tree scrolls; it may have other content above the tree. */
  scroller: HTMLElement | null
  /** The root folder of the tree, which has no row itself. */
  root: Root
  /** Every folder is open, because the rows are search results. */
  allOpen: boolean
  untrusted: readonly string[]
  current: string | null
  dirty: ReadonlySet<string>
  onOpen: (file: FileRef) => void
  /** What changes a file; null if nobody may. */
  actions: FileActions | null
  /** What can be done with a folder; null if nothing. */
  folderActions?: FolderActions | null
}

export function FileTree({
  folderOf,
  problemOf,
  scroller,
  root,
  allOpen,
  untrusted,
  current,
  dirty,
  onOpen,
  actions,
  folderActions = null,
}: Props) {
  const t = useT()
  const byHand = useFoldsByHand()
  const rows = useMemo(
    () => treeRows(folderOf, root, folder => allOpen || byHand[foldId(folder)] === true),
    [folderOf, root, allOpen, byHand],
  )
  const labels = useId()
  useEffect(() => {
    for (const folder of foldersOf(current ?? '')) setFold(foldId(folder), true)
  }, [current])

  const preload = ({ kind, open, path }: TreeRow) => {
    if (kind === 'folder' && !open && !allOpen && !createsSkills(root)) preloadFolder(path)
  }
  const act = (row: TreeRow) => {
    const file = fileOf(row)
    preload(row)
    if (file) onOpen(file)
    else if (row.kind === 'folder' && !allOpen) setFold(foldId(row.path), !row.open)
  }
  const { tree, list, above, stop, setActive, onKeyDown, focusNext } = useTreeRows({
    rows,
    scroller,
    current,
    focused: null,
    act,
  })

  if (rows.length === 0) return null
  return (
    <div
      ref={tree}
      role="tree"
      aria-label={rootWords(root, t)}
      className="relative"
      style={{ height: `${list.getTotalSize()}px` }}
    >
      {list.getVirtualItems().map(({ index: at, key, start }) => {
        const row = rows[at]
        const isUnsaved = row !== undefined && isAmong(row, dirty)
        const problem = row?.file ? problemOf(row.file) : (row?.problem ?? null)
        return (
          row && (
            <div
              key={key}
              ref={list.measureElement}
              data-index={at}
              data-drop={row.kind === 'folder' ? row.path : undefined}
              style={{ transform: `translateY(${start - above}px)` }}
              role="treeitem"
              aria-level={row.level}
              aria-posinset={row.position}
              aria-setsize={row.siblings}
              aria-expanded={row.kind === 'folder' ? row.open : undefined}
              aria-busy={row.loading || undefined}
              aria-selected={row.path === current}
              aria-description={isUnsaved ? t('unsaved') : row.ignored ? t('ignored') : undefined}
              aria-labelledby={`${labels}${at}`}
              tabIndex={at === stop ? 0 : -1}
              title={problem ?? (row.kind === 'rest' ? undefined : shownPath(row.path))}
              onFocus={() => setActive(row.path)}
              onKeyDown={event => onKeyDown(event, row, at)}
              onPointerDown={() => preload(row)}
              onClick={({ target }) => isRow(target) && act(row)}
              className={cn(
                'group absolute inset-x-0 top-0 flex cursor-default items-center rounded-md text-[13px] outline-offset-[-2px]',
                row.path === current ? 'bg-sel' : 'focus-within:bg-hover hover:bg-hover',
              )}
            >
              <FileTreeRow
                row={row}
                at={at}
                labelId={`${labels}${at}`}
                tabIndex={at === stop ? 0 : -1}
                root={root}
                isSearch={allOpen}
                problem={problem}
                isUnsaved={isUnsaved}
                isUntrusted={isAmong(row, untrusted)}
                actions={actions}
                folderActions={folderActions}
                onMore={focusNext}
              />
            </div>
          )
        )
      })}
    </div>
  )
}

/** Whether a click is on the row itself, not on its menu. */
const isRow = (target: EventTarget): boolean =>
  target instanceof Element &&
  target.closest('[role=treeitem], button, [role=menu]')?.matches('[role=treeitem]') === true

/** Whether a row represents one of these paths; a closed folder represents its content. */
function isAmong({ path, kind, open }: TreeRow, paths: Iterable<string>): boolean {
  if (kind === 'rest') return false
  for (const other of paths) if (kind === 'file' ? other === path : !open && isBelow(path, other)) return true
  return false
}
