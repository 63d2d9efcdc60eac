import { ChevronRight, Ellipsis, EyeOff, FileText, TriangleAlert } from 'lucide-react'
import { memo, type ReactNode, useDeferredValue } from 'react'
import { Badge } from '@/components/ui/Badge'
import { Spinner } from '@/components/ui/Spinner'
import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'
import { FileRef, isProject, type Root } from '@/lib/roots'
import { type FileActions, FileMenu } from './FileMenu'
import { type FolderActions, FolderMenu } from './FolderMenu'
import { MoreEntries } from './MoreEntries'
import { Size, Tokens } from './Tokens'
import type { TreeRow } from './tree'

interface Props {
  row: TreeRow
  /** Index of the row in the list. */
  at: number
  /** Id of the element that labels the row. */
  labelId: string
  tabIndex: number
  root: Root
  /** The rows are search results. */
  isSearch: boolean
  problem: string | null
  isUnsaved: boolean
  isUntrusted: boolean
  actions: FileActions | null
  folderActions: FolderActions | null
  /** Called before the rest of a folder appears if its row has the focus. */
  onMore: (at: number) => void
}

/**
 * The content of a row. The rows of a tree are made anew whenever a folder opens or the focus moves, and most of them are
 * then equal to those before.
 */
export const FileTreeRow = memo(
  ({
    row,
    at,
    labelId,
    tabIndex,
    root,
    isSearch,
    problem,
    isUnsaved,
    isUntrusted,
    actions,
    folderActions,
    onMore,
  }: Props) => {
    const t = useT()
    const file = fileOf(row)
    const folder = folderActions && row.kind === 'folder' ? FileRef.parse(row.path) : null
    return (
      <>
        <div
          id={labelId}
          style={{ paddingInlineStart: `${row.level * 14 - 6}px` }}
          className="flex min-w-0 flex-1 items-center gap-2 py-1 pe-2 touch-row"
        >
          <RowIcon row={row} problem={problem} />
          {row.kind === 'rest' && row.next !== null ? (
            <MoreEntries
              root={root}
              path={row.path.slice(0, -1)}
              next={row.next}
              n={row.leftOut}
              onFocused={() => onMore(at)}
            />
          ) : row.kind === 'rest' ? (
            <span className="min-w-0 flex-1 text-fg-3 text-small">
              {t(isSearch ? 'moreFound' : isProject(root) ? 'moreInProject' : 'moreInFolder', {
                n: row.leftOut,
              })}
            </span>
          ) : (
            <span className={cn('min-w-0 flex-1 truncate', row.ignored && 'text-fg-3')}>{row.name}</span>
          )}
          {isUnsaved && (
            <span aria-hidden title={t('unsaved')} className="size-2 shrink-0 rounded-full bg-warn" />
          )}
          {isUntrusted && <Badge tone="warn">{t('untrusted')}</Badge>}
          {row.ignored && (
            <span aria-hidden title={t('ignored')} className="shrink-0 text-fg-3">
              <EyeOff size={12} />
            </span>
          )}
          {isProject(root) ? <Size bytes={row.file?.size} /> : <Tokens n={row.tokens} />}
        </div>
        {(file || folder) && (
          <Later>
            {file && <FileMenu file={file} tabIndex={tabIndex} {...actions} />}
            {folder && folderActions && <FolderMenu folder={folder} tabIndex={tabIndex} {...folderActions} />}
          </Later>
        )}
      </>
    )
  },
  ({ row: before, ...props }, { row, ...next }) => isEqual(before, row) && isEqual(props, next),
)

/** Compares the values of objects of the same type. */
const isEqual = <T extends object>(a: T, b: T): boolean =>
  (Object.keys(a) as (keyof T)[]).every(key => Object.is(a[key], b[key]))

/** Renders the menus of new rows after the rows are painted: they take about as long as everything else of a row. */
function Later({ children }: { children: ReactNode }) {
  const painted = useDeferredValue(true, false)
  return painted ? children : <span className="shrink-0 pointer-coarse:size-11" />
}

/** Only for rows in view: a folder may have fifty thousand. */
export const fileOf = ({ file, path }: TreeRow): FileRef | null => file && FileRef.parse(path)

function RowIcon({ row: { kind, open, loading }, problem }: { row: TreeRow; problem: string | null }) {
  if (kind === 'rest') return <Ellipsis size={14} aria-hidden className="shrink-0 text-fg-3" />
  if (problem !== null) return <TriangleAlert size={14} aria-hidden className="shrink-0 text-warn" />
  if (loading) return <Spinner />
  if (kind === 'file') return <FileText size={14} aria-hidden className="shrink-0 text-fg-3" />
  return (
    <ChevronRight
      size={14}
      aria-hidden
      className={cn('shrink-0 text-fg-3 transition-transform', open && 'rotate-90')}
    />
  )
}
