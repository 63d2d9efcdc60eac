import { ArrowDownUp, ListFilter, Tag } from 'lucide-react'
import { useSessionList } from '@/api/queries'
import { IconButton } from '@/components/ui/Button'
import { Menu, MenuItem } from '@/components/ui/Menu'
import { type Key, type Translate, useT } from '@/lib/i18n'
import { type Arrangement, FILTERS, labelOf, SORTS, useArrangement } from './arrangement'
import { allLabels } from './labels'

const SORT_WORDS: Record<Arrangement['sort'], Key> = {
  activity: 'sortActivity',
  created: 'sortCreated',
  title: 'sortTitle',
}
const FILTER_WORDS: Record<(typeof FILTERS)[number], Key> = {
  all: 'filterAll',
  unread: 'filterUnread',
  running: 'filterRunning',
  waiting: 'filterWaiting',
}

/** What the list shows by a filter. */
export function filterName(filter: Arrangement['filter'], t: Translate): string {
  const known = FILTERS.find(name => name === filter)
  return known ? t(FILTER_WORDS[known]) : (labelOf(filter) ?? '')
}

/** Filters and sorts the list of conversations. */
export function ArrangeMenu() {
  const t = useT()
  const sort = useArrangement(s => s.sort)
  const filter = useArrangement(s => s.filter)
  const labels = useSessionList().data?.labels ?? {}
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
      {allLabels(labels).map(label => (
        <MenuItem
          key={`label:${label}`}
          icon={<Tag size={14} aria-hidden />}
          checked={labelOf(filter) === label}
          onSelect={() => useArrangement.setState({ filter: `label:${label}` })}
        >
          {label}
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
