import { Download, Search } from 'lucide-react'
import { useId, useState } from 'react'
import { exportPeople } from '@/api/people'
import { usePeople, useProfile, useUsage } from '@/api/peopleQueries'
import { Button } from '@/components/ui/Button'
import { Input } from '@/components/ui/Input'
import { QueryError } from '@/components/ui/QueryError'
import { Select } from '@/components/ui/Select'
import { Skeleton } from '@/components/ui/Skeleton'
import { download } from '@/lib/download'
import { type Key, useT } from '@/lib/i18n'
import { matches } from '@/lib/match'
import { reasonOf } from '@/lib/reason'
import { toast } from '@/stores/toasts'
import { inOrder, ORDERS, type Order } from './order'
import { PersonRow } from './PersonRow'

/** From so many people on, the list can be filtered. */
const MANY = 9
const WORDS: Record<Order, Key> = {
  created: 'peopleByCreated',
  name: 'peopleByName',
  seen: 'peopleBySeen',
  tokens: 'peopleByTokens',
  size: 'peopleBySize',
}

export function PeopleList() {
  const t = useT()
  const { data: people, error } = usePeople()
  const me = useProfile(true).data?.id
  const usage = new Map(useUsage().data?.map(used => [used.id, used] as const))
  const [query, setQuery] = useState('')
  const [order, setOrder] = useState<Order>('created')
  const sortId = useId()
  const save = async () => {
    try {
      const { name, content } = await exportPeople()
      download(name, content)
    } catch (cause) {
      toast(t('notDone', { reason: reasonOf(cause) }), { tone: 'bad' })
    }
  }
  if (!people) return error ? <QueryError error={error} /> : <Skeleton label={t('loading')} rows={4} />
  const found = inOrder(people, usage, order).filter(({ username, email }) =>
    matches(`${username} ${email ?? ''}`, query),
  )
  return (
    <div className="space-y-3">
      <p className="text-[13px] text-fg-2">{t('peopleHint')}</p>
      {people.length >= MANY && (
        <Input
          type="search"
          size="medium"
          icon={Search}
          aria-label={t('peopleFind')}
          placeholder={t('peopleFind')}
          value={query}
          onChange={event => setQuery(event.target.value)}
        />
      )}
      <div className="flex flex-wrap items-center gap-2 text-small">
        <span id={sortId}>{t('peopleSort')}</span>
        <Select
          aria-labelledby={sortId}
          value={order}
          options={ORDERS.map(value => ({ value, words: t(WORDS[value]) }))}
          onChange={value => setOrder(value as Order)}
        />
        <Button className="ms-auto" size="small" onClick={() => void save()}>
          <Download size={14} aria-hidden />
          {t('usageCsv')}
        </Button>
      </div>
      {found.length === 0 && (
        <p role="status" className="text-fg-3 text-small">
          {t('peopleNone')}
        </p>
      )}
      <ul className="space-y-1.5" aria-label={t('people')}>
        {found.map(person => (
          <PersonRow
            key={person.id}
            person={person}
            you={person.id === me}
            {...(usage.has(person.id) && { usage: usage.get(person.id) })}
          />
        ))}
      </ul>
    </div>
  )
}
