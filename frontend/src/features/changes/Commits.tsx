import { GitCommitHorizontal } from 'lucide-react'
import { useState } from 'react'
import type { MadeCommit } from '@/api/types'
import { Disclosure } from '@/components/ui/Disclosure'
import { useT } from '@/lib/i18n'

/** The commits that commands made, newest first. An undo does not take them back. */
export function Commits({ commits }: { commits: readonly MadeCommit[] }) {
  const t = useT()
  const [open, setOpen] = useState(false)
  if (commits.length === 0) return null
  return (
    <Disclosure
      open={open}
      onToggle={setOpen}
      className="shrink-0 rounded-lg border text-[13px]"
      summaryClass="rounded-lg px-3 py-1.5 hover:bg-hover"
      summary={<span className="me-auto font-medium">{t('changesCommits', { n: commits.length })}</span>}
    >
      <p className="px-3 pb-1 text-fg-2 text-small">{t('changesCommitsStay')}</p>
      <ol className="scroll max-h-40 px-3 pb-2">
        {commits.toReversed().map(({ call_id, repository, id, subject }) => (
          <li key={`${call_id} ${repository} ${id}`} className="flex items-center gap-2">
            <GitCommitHorizontal size={14} className="shrink-0 text-fg-3" aria-hidden />
            <span className="min-w-0 flex-1 truncate" title={subject}>
              {subject}
            </span>
            {repository !== '' && (
              <span className="min-w-0 max-w-[40%] truncate text-fg-3 text-meta" title={repository}>
                {repository}
              </span>
            )}
            <code className="shrink-0 text-fg-3 text-meta" title={id}>
              {id.slice(0, 7)}
            </code>
          </li>
        ))}
      </ol>
    </Disclosure>
  )
}
