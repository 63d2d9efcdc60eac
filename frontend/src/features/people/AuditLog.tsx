import { useId, useState } from 'react'
import type { AuditFilter } from '@/api/people'
import { useAudit, usePeople } from '@/api/peopleQueries'
import type { AuditEntry } from '@/api/types'
import { Badge } from '@/components/ui/Badge'
import { Button } from '@/components/ui/Button'
import { QueryError } from '@/components/ui/QueryError'
import { Select } from '@/components/ui/Select'
import { Skeleton } from '@/components/ui/Skeleton'
import { Visible } from '@/components/Visible'
import { useDate } from '@/features/auth/useDate'
import { useT } from '@/lib/i18n'
import { detailOf, EVENTS, eventOf, reasonWords } from './auditWords'

/** Who signed in, and who changed accounts and this server, newest first. */
export function AuditLog() {
  const t = useT()
  const people = usePeople().data
  const [filter, setFilter] = useState<AuditFilter>({})
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage } = useAudit(filter)
  const entries = data?.pages.flatMap(page => page.items)
  const set = (name: keyof AuditFilter) => (value: string) =>
    setFilter(now => ({ ...now, [name]: value || undefined }) as AuditFilter)
  return (
    <div className="space-y-3">
      <p className="text-[13px] text-fg-2">{t('auditHint')}</p>
      <div className="flex flex-wrap gap-x-4 gap-y-2">
        <Filter
          words={t('auditEvent')}
          value={filter.event}
          options={Object.keys(EVENTS).map(event => ({ value: event, words: eventOf(event, t) }))}
          onChange={set('event')}
        />
        <Filter
          words={t('auditOutcome')}
          value={filter.outcome}
          options={[
            { value: 'done', words: t('auditDone') },
            { value: 'refused', words: t('auditRefused') },
          ]}
          onChange={set('outcome')}
        />
        <Filter
          words={t('auditPerson')}
          value={filter.account}
          options={(people ?? []).map(({ id, username }) => ({ value: id, words: username }))}
          onChange={set('account')}
        />
      </div>
      {!entries ? (
        error ? (
          <QueryError error={error} />
        ) : (
          <Skeleton label={t('loading')} rows={4} />
        )
      ) : entries.length === 0 ? (
        <p role="status" className="text-fg-3 text-small">
          {t('auditNone')}
        </p>
      ) : (
        <Table entries={entries} />
      )}
      {entries && error && <QueryError error={error} />}
      {hasNextPage && (
        <Button size="small" disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          {t('auditMore')}
        </Button>
      )}
    </div>
  )
}

interface FilterProps {
  words: string
  value: string | undefined
  options: readonly { value: string; words: string }[]
  onChange: (value: string) => void
}

function Filter({ words, value, options, onChange }: FilterProps) {
  const t = useT()
  const label = useId()
  return (
    <div className="flex max-w-full items-center gap-2 text-small">
      <span id={label} className="text-fg-3">
        {words}
      </span>
      <Select
        className="min-w-0"
        aria-labelledby={label}
        value={value ?? ''}
        options={[{ value: '', words: t('auditAll') }, ...options]}
        onChange={onChange}
      />
    </div>
  )
}

function Table({ entries }: { entries: readonly AuditEntry[] }) {
  const t = useT()
  const heads = [t('auditTime'), t('auditWho'), t('auditEvent'), t('auditAbout'), t('auditAddress')]
  return (
    // A table that is too wide scrolls by the arrow keys.
    <div className="overflow-x-auto rounded-sm" tabIndex={0} role="group" aria-label={t('peopleAudit')}>
      <table className="w-full text-[12.5px]">
        <caption className="sr-only">{t('peopleAudit')}</caption>
        <thead className="text-fg-3 text-meta">
          <tr>
            {heads.map(head => (
              <th key={head} scope="col" className="whitespace-nowrap py-1 pe-3 text-start font-normal">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {entries.map(entry => (
            <Line key={entry.id} entry={entry} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Line({ entry }: { entry: AuditEntry }) {
  const t = useT()
  const date = useDate()
  const { actor, actor_name: who, account, account_name: name, reason, unrecorded = 0 } = entry
  const about = [account && account !== actor ? (name ?? account) : null, detailOf(entry, t)].filter(Boolean)
  return (
    <tr className="border-t align-top">
      <td className="whitespace-nowrap py-1 pe-3 tabular-nums">{date(entry.at)}</td>
      <td className="min-w-20 py-1 pe-3 [overflow-wrap:anywhere]">
        {actor ? <Visible text={who ?? actor} /> : <span className="text-fg-3">{t('auditNobody')}</span>}
      </td>
      <td className="min-w-32 py-1 pe-3">
        {eventOf(entry.event, t)}
        {entry.outcome !== 'done' && (
          <>
            {' '}
            <Badge tone="warn">
              {entry.outcome === 'begun' ? t('auditBegun') : reasonWords(reason ?? null, t)}
            </Badge>
          </>
        )}
        {unrecorded > 0 && <p className="text-fg-3 text-meta">{t('auditUnrecorded', { n: unrecorded })}</p>}
      </td>
      <td className="min-w-20 py-1 pe-3 [overflow-wrap:anywhere]">
        <Visible text={about.join(' · ')} />
      </td>
      <td className="whitespace-nowrap py-1 tabular-nums">{entry.address ?? t('auditCommandLine')}</td>
    </tr>
  )
}
