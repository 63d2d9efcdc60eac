import { type ReactNode, useMemo, useState } from 'react'
import { useChanges } from '@/api/changeQueries'
import type { GitStatus } from '@/api/git'
import * as api from '@/api/git'
import { Button } from '@/components/ui/Button'
import { ErrorText } from '@/components/ui/ErrorText'
import { useT } from '@/lib/i18n'
import { act, discard, undoDiscard } from './actions'
import { CommitForm } from './CommitForm'
import { EntryList, type ListedEntry } from './EntryList'

interface Shown {
  path: string
  staged: boolean
}

interface Props {
  id: string
  status: GitStatus
  sessionId: string | null
  /** Nothing is staged, discarded or committed. */
  readOnly: boolean
  current: Shown | null
  onSelect: (shown: Shown | null) => void
}

/** The changed files, staged and not, and the form for a commit. */
export function ChangesPane({ id, status, sessionId, readOnly, current, onSelect }: Props) {
  const t = useT()
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<string | null>(null)
  const [discarded, setDiscarded] = useState<readonly api.DiscardedFile[]>([])
  const { entries, filters, left_out: leftOut } = status
  const staged: ListedEntry[] = entries.flatMap(entry =>
    entry.staged ? [{ entry, change: entry.staged }] : [],
  )
  const unstaged: ListedEntry[] = entries.flatMap(entry =>
    entry.unstaged ? [{ entry, change: entry.unstaged }] : [],
  )
  const run = async (action: () => Promise<string | null>) => {
    setBusy(true)
    setProblem(await action())
    setBusy(false)
  }
  const common = (isStaged: boolean) => ({
    staged: isStaged,
    busy,
    readOnly,
    current: current?.staged === isStaged ? current.path : null,
    onSelect: (path: string) => onSelect({ path, staged: isStaged }),
    onMove: (paths: readonly string[] | null) => {
      const move = isStaged ? api.unstage : api.stage
      void run(() => act(id, () => move(id, paths ?? undefined)))
      onSelect(null)
    },
    onDiscard: (paths: readonly string[]) => {
      void run(() => discard(id, paths, setDiscarded))
      onSelect(null)
    },
  })
  return (
    <OfAgent id={id} sessionId={sessionId}>
      {byAgent => (
        <>
          {problem && <ErrorText>{problem}</ErrorText>}
          {discarded[0] && (
            <div
              role="status"
              className="flex shrink-0 items-center gap-2 rounded-md bg-hover px-2 py-1 text-small"
            >
              <span className="min-w-0 flex-1 truncate">
                {t('gitDiscarded', { path: discarded[0].path })}
              </span>
              <Button
                size="small"
                disabled={busy}
                onClick={() =>
                  void run(async () => {
                    const failed = await undoDiscard(id, discarded)
                    if (failed === null) setDiscarded([])
                    return failed
                  })
                }
              >
                {t('undo')}
              </Button>
            </div>
          )}
          <div
            className="scroll min-h-0 flex-1 space-y-2"
            role="region"
            aria-label={t('gitChanges')}
            tabIndex={0}
          >
            {entries.length === 0 && <p className="p-1.5 text-[13px] text-fg-2">{t('gitClean')}</p>}
            <EntryList title={t('gitStaged')} entries={staged} byAgent={byAgent} {...common(true)} />
            <EntryList title={t('gitUnstaged')} entries={unstaged} byAgent={byAgent} {...common(false)} />
            {leftOut > 0 && <p className="p-1.5 text-fg-3 text-small">{t('gitLeftOut', { n: leftOut })}</p>}
            {filters.length > 0 && (
              <p className="p-1.5 text-fg-3 text-small">{t('gitFilters', { names: filters.join(', ') })}</p>
            )}
          </div>
          {!readOnly && <CommitForm id={id} status={status} staged={staged.length} />}
        </>
      )}
    </OfAgent>
  )
}

const NONE: ReadonlySet<string> = new Set()

interface OfAgentProps {
  id: string
  sessionId: string | null
  children: (paths: ReadonlySet<string>) => ReactNode
}

/** The files that the agent changed in the conversation. */
function OfAgent({ id, sessionId, children }: OfAgentProps) {
  return sessionId === null ? (
    children(NONE)
  ) : (
    <OfSession id={id} sessionId={sessionId}>
      {children}
    </OfSession>
  )
}

function OfSession({ id, sessionId, children }: OfAgentProps & { sessionId: string }) {
  const { data } = useChanges(sessionId, null)
  const begin = `project/${id}/`
  const paths = useMemo(
    () =>
      new Set(data?.files.flatMap(({ path }) => (path.startsWith(begin) ? [path.slice(begin.length)] : []))),
    [data, begin],
  )
  return children(paths)
}
