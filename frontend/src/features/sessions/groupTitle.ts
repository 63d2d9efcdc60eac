import { monthOf } from '@/lib/format'
import { getLang, type Key, locale, type Translate } from '@/lib/i18n'
import type { Arrangement } from './arrangement'
import { type Group, timeOf } from './groups'

const WORDS = {
  pinned: 'pinned',
  today: 'today',
  yesterday: 'yesterday',
  week: 'lastWeek',
  all: 'sessions',
  archived: 'archived',
} as const satisfies Record<Exclude<Group['name'], 'month'>, Key>

/** The heading of a group: a month by its name. */
export function titleOf({ name, sessions }: Group, sort: Arrangement['sort'], t: Translate): string {
  if (name !== 'month') return t(WORDS[name])
  const [first] = sessions
  return first ? monthOf(timeOf(first, sort), locale(getLang())) : ''
}
