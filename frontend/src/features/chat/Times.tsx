import { cn } from '@/lib/cn'
import { clock, moment } from '@/lib/format'
import { type Lang, locale, type Translate, useLang } from '@/lib/i18n'
import { ON_HOVER } from './MessageToolbar'

/** The time of a message, shown with its actions. */
export function Time({ at }: { at: number }) {
  const lang = locale(useLang())
  return (
    <time
      dateTime={new Date(at * 1000).toISOString()}
      title={moment(at, lang)}
      className={cn('self-center px-1 text-fg-3 text-meta tabular-nums', ON_HOVER)}
    >
      {clock(at, lang)}
    </time>
  )
}

const dayOf = (at: number): string => new Date(at * 1000).toDateString()

/** When this tab first showed a message that no history has dated yet, by its id. */
const arrivals = new Map<string, number>()

export function arrivedAt(id: string, createdAt: number | null): number {
  if (createdAt !== null) return createdAt
  const known = arrivals.get(id) ?? Date.now() / 1000
  arrivals.set(id, known)
  return known
}

/**
 * The name of the day on which a message begins a new day of its conversation; null if it does not. A conversation that
 * has only today's messages has no separator.
 */
export function dayBegun(at: number, before: number | null, lang: Lang, t: Translate): string | null {
  const now = new Date()
  const [day, today] = [dayOf(at), now.toDateString()]
  if (before === null ? day === today : day === dayOf(before)) return null
  if (day === today) return t('today')
  const yesterday = new Date(now.getFullYear(), now.getMonth(), now.getDate() - 1)
  if (day === yesterday.toDateString()) return t('yesterday')
  return new Date(at * 1000).toLocaleDateString(locale(lang), { dateStyle: 'long' })
}

/** Part of the row that it stands above, so that the list measures both at once. */
export function DaySeparator({ day }: { day: string }) {
  return (
    <div className="mb-3 flex items-center gap-3 text-fg-3 text-meta">
      <hr className="flex-1 border-t" />
      <span>{day}</span>
      <hr className="flex-1 border-t" />
    </div>
  )
}
