import { useState } from 'react'
import type { GitChange, GitEntry } from '@/api/git'
import { Button } from '@/components/ui/Button'
import { useT } from '@/lib/i18n'
import { EntryRow } from './EntryRow'

/** Number of rows that are shown at first, and more at a time. */
const ROWS = 300

export interface ListedEntry {
  entry: GitEntry
  change: GitChange
}

interface Props {
  title: string
  entries: readonly ListedEntry[]
  staged: boolean
  current: string | null
  byAgent: ReadonlySet<string>
  busy: boolean
  readOnly: boolean
  onSelect: (path: string) => void
  /** Stages the files, or takes them out of what is staged; null for all. */
  onMove: (paths: readonly string[] | null) => void
  onDiscard: (paths: readonly string[]) => void
}

/** The files that are staged, or those that are not. */
export function EntryList({
  title,
  entries,
  staged,
  current,
  byAgent,
  busy,
  readOnly,
  onSelect,
  onMove,
  onDiscard,
}: Props) {
  const t = useT()
  const [rows, setRows] = useState(ROWS)
  if (entries.length === 0) return null
  return (
    <section aria-label={title}>
      <div className="flex items-center gap-1 ps-1.5">
        <h3 className="min-w-0 flex-1 font-semibold text-fg-2 text-small">
          {title} <span className="font-normal text-fg-3 tabular-nums">{entries.length}</span>
        </h3>
        {!readOnly && (
          <Button size="small" look="ghost" disabled={busy} onClick={() => onMove(null)}>
            {t(staged ? 'gitUnstageAll' : 'gitStageAll')}
          </Button>
        )}
      </div>
      <ul>
        {entries.slice(0, rows).map(({ entry, change }) => (
          <EntryRow
            key={entry.path}
            entry={entry}
            change={change}
            staged={staged}
            current={entry.path === current}
            byAgent={byAgent.has(entry.path)}
            busy={busy}
            onSelect={() => onSelect(entry.path)}
            onMove={readOnly ? null : () => onMove([entry.path])}
            onDiscard={() => onDiscard([entry.path])}
          />
        ))}
      </ul>
      {entries.length > rows && (
        <Button size="small" look="ghost" onClick={() => setRows(rows + ROWS)}>
          {t('gitMore', { n: entries.length - rows })}
        </Button>
      )}
    </section>
  )
}
