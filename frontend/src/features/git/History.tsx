import { useInfiniteQuery } from '@tanstack/react-query'
import * as api from '@/api/git'
import { gitKey } from '@/api/git'
import { Button } from '@/components/ui/Button'
import { QueryError } from '@/components/ui/QueryError'
import { Skeleton } from '@/components/ui/Skeleton'
import { cn } from '@/lib/cn'
import { moment } from '@/lib/format'
import { useLang, useT } from '@/lib/i18n'

interface Props {
  id: string
  current: string | null
  onSelect: (commit: { id: string; subject: string }) => void
}

/** The commits of the branch, newest first. */
export function History({ id, current, onSelect }: Props) {
  const t = useT()
  const lang = useLang()
  const pages = useInfiniteQuery({
    queryKey: [...gitKey(id), 'log'],
    queryFn: ({ pageParam }) => api.log(id, pageParam),
    initialPageParam: null as string | null,
    getNextPageParam: page => page.next_cursor ?? null,
    staleTime: 0,
    retry: false,
  })
  if (pages.error) return <QueryError error={pages.error} />
  if (!pages.data) return <Skeleton label={t('loading')} rows={6} />
  const commits = pages.data.pages.flatMap(page => page.items)
  return (
    <div className="scroll min-h-0 flex-1">
      {commits.length === 0 && <p className="p-2 text-[13px] text-fg-2">{t('gitNoCommits')}</p>}
      <ol>
        {commits.map(({ id: commit, subject, author, committed_at, refs }) => (
          <li key={commit}>
            <button
              type="button"
              aria-current={commit === current ? 'true' : undefined}
              onClick={() => onSelect({ id: commit, subject })}
              className={cn(
                'block w-full rounded-md px-2 py-1 text-start hover:bg-hover pointer-coarse:min-h-11',
                commit === current && 'bg-accent-soft hover:bg-accent-soft',
              )}
            >
              <span className="block truncate text-[13px]" title={subject}>
                {refs.map(name => (
                  <span key={name} className="me-1 rounded bg-hover px-1 text-fg-2 text-meta">
                    {name}
                  </span>
                ))}
                {subject}
              </span>
              <span className="block truncate text-fg-3 text-meta">
                <code>{commit.slice(0, 7)}</code> · {author} · {moment(Date.parse(committed_at) / 1000, lang)}
              </span>
            </button>
          </li>
        ))}
      </ol>
      {pages.hasNextPage && (
        <Button
          size="small"
          look="ghost"
          disabled={pages.isFetching}
          onClick={() => void pages.fetchNextPage()}
        >
          {t('gitOlder')}
        </Button>
      )}
    </div>
  )
}
