import { Search } from 'lucide-react'
import { useState } from 'react'
import { usePeople, useProfile } from '@/api/peopleQueries'
import { Input } from '@/components/ui/Input'
import { QueryError } from '@/components/ui/QueryError'
import { Skeleton } from '@/components/ui/Skeleton'
import { useT } from '@/lib/i18n'
import { matches } from '@/lib/match'
import { PersonRow } from './PersonRow'

/** From so many people on, the list can be filtered. */
const MANY = 9

export function PeopleList() {
  const t = useT()
  const { data: people, error } = usePeople()
  const me = useProfile(true).data?.id
  const [query, setQuery] = useState('')
  if (!people) return error ? <QueryError error={error} /> : <Skeleton label={t('loading')} rows={4} />
  const found = people.filter(({ username, email }) => matches(`${username} ${email ?? ''}`, query))
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
      {found.length === 0 && (
        <p role="status" className="text-fg-3 text-small">
          {t('peopleNone')}
        </p>
      )}
      <ul className="space-y-1.5" aria-label={t('people')}>
        {found.map(person => (
          <PersonRow key={person.id} person={person} you={person.id === me} />
        ))}
      </ul>
    </div>
  )
}
