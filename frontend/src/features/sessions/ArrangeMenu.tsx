import { ArrowDownUp, ListFilter } from 'lucide-react'
import { IconButton } from '@/components/ui/Button'
import { Menu, MenuItem } from '@/components/ui/Menu'
import { type Key, useT } from '@/lib/i18n'
import { type Arrangement, FILTERS, SORTS, useArrangement } from './arrangement'

const SORT_WORDS: Record<Arrangement['sort'], Key> = {
  activity: 'sortActivity',
  created: 'sortCreated',
  title: 'sortTitle',
}
export const FILTER_WORDS: Record<Arrangement['filter'], Key> = {
  all: 'filterAll',
  unread: 'filterUnread',
  running: 'filterRunning',
  waiting: 'filterWaiting',
}

/** Filters and sorts the list of conversations. */
export function ArrangeMenu() {
  const t = useT()
  const sort = useArrangement(s => s.sort)
  const filter = useArrangement(s => s.filter)
  return (
    <Menu
      trigger={
        <IconButton
          size="fieldIcon"
          label={t('arrange')}
          className={filter === 'all' ? undefined : 'text-accent!'}
        >
          <ListFilter size={15} aria-hidden />
        </IconButton>
      }
    >
      {FILTERS.map(value => (
        <MenuItem
          key={value}
          icon={<ListFilter size={14} aria-hidden />}
          checked={filter === value}
          onSelect={() => useArrangement.setState({ filter: value })}
        >
          {t(FILTER_WORDS[value])}
        </MenuItem>
      ))}
      {SORTS.map(value => (
        <MenuItem
          key={value}
          icon={<ArrowDownUp size={14} aria-hidden />}
          checked={sort === value}
          onSelect={() => useArrangement.setState({ sort: value })}
        >
          {t(SORT_WORDS[value])}
        </MenuItem>
      ))}
    </Menu>
  )
}
