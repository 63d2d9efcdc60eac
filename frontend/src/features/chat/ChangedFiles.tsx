import { FileDiff, Files as FilesIcon, GitCompare, Redo2, Undo2 } from 'lucide-react'
import { Fragment } from 'react'
import { Button } from '@/components/ui/Button'
import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'
import { FileRef, shownPath } from '@/lib/roots'
import { openPath } from '@/stores/ui'
import { type Change, fileCount, reviewableIn } from './changes'

interface Props {
  changes: Change[]
  /** Shows all changes of the answer. */
  onShow: () => void
  /** Compares a file with its text before the answer. */
  onReview: (path: string) => void
  onUndo: (change: Change) => void
  /** Undoes all changes after a preview; null while the session runs. */
  onUndoAll: (() => void) | null
}

/** Number of rows from which the list scrolls. */
const MANY = 12

/** The files that the agent changed, with review and undo. */
export function ChangedFiles({ changes, onShow, onReview, onUndo, onUndoAll }: Props) {
  const t = useT()
  if (changes.length === 0) return null
  const reviewable = reviewableIn(changes)
  const standing = changes.filter(change => !change.undone)
  return (
    // Not a landmark: each of many answers has such a part.
    <div
      role="group"
      aria-label={t('changedFiles')}
      className="rounded-lg border bg-pane-2 px-3 py-1.5 text-[13px]"
    >
      <div className="flex flex-wrap items-center gap-x-1 border-b pb-1">
        <h3 className="me-auto font-medium">{t('filesChanged', { n: fileCount(changes) })}</h3>
        <Button size="small" look="ghost" onClick={onShow}>
          <FilesIcon size={13} aria-hidden className="max-md:hidden" />
          {t('viewChanges')}
        </Button>
        {standing.length > 1 && onUndoAll && (
          <Button size="small" look="ghost" onClick={onUndoAll}>
            <Undo2 size={13} aria-hidden className="max-md:hidden" />
            {t('undoWork')}
          </Button>
        )}
      </div>
      <ul className={cn(changes.length > MANY && 'scroll max-h-80 overflow-y-auto')}>
        {changes.map(change => {
          const { callId, path, added, removed, undone, together, more } = change
          const shown = shownPath(path)
          const Turn = undone ? Redo2 : Undo2
          return (
            <Fragment key={`${callId} ${path}`}>
              <li className="flex flex-wrap items-center gap-x-2 gap-y-1 py-0.5">
                <FileDiff size={14} aria-hidden className="shrink-0 text-fg-3" />
                <button
                  type="button"
                  onClick={() => (FileRef.parse(path) ? openPath(path) : onShow())}
                  title={t('openFile', { path: shown })}
                  className="min-w-0 truncate font-mono text-[12px] underline-offset-2 hover:underline pointer-coarse:py-2"
                >
                  {shown}
                </button>
                {/* The lines of what a command changed are not counted. */}
                {added + removed > 0 && (
                  <span className="font-mono text-[12px] tabular-nums">
                    <span className="text-ok">+{added}</span> <span className="text-bad">−{removed}</span>
                  </span>
                )}
                {undone && <span className="text-fg-3 text-meta">{t('undone')}</span>}
                <span className="ms-auto flex gap-1">
                  {reviewable.has(change) && (
                    <Button size="small" look="ghost" onClick={() => onReview(path)}>
                      <GitCompare size={13} aria-hidden className="max-md:hidden" />
                      {t('reviewFile')}
                      <span className="sr-only"> {shown}</span>
                    </Button>
                  )}
                  {together > 0 && (
                    <Button size="small" look="ghost" onClick={() => onUndo(change)}>
                      <Turn size={13} aria-hidden className="max-md:hidden" />
                      {t(undone ? 'redo' : 'undo')}
                      {together > 1 ? (
                        ` ${t('undoTogether', { n: together })}`
                      ) : (
                        <span className="sr-only"> {shown}</span>
                      )}
                    </Button>
                  )}
                </span>
              </li>
              {more > 0 && (
                <li className="flex items-center gap-2 py-0.5">
                  <FilesIcon size={14} aria-hidden className="shrink-0 text-fg-3" />
                  <button
                    type="button"
                    onClick={onShow}
                    className="underline-offset-2 hover:underline pointer-coarse:py-2"
                  >
                    {t('changesMore', { n: more })}
                  </button>
                </li>
              )}
            </Fragment>
          )
        })}
      </ul>
    </div>
  )
}
