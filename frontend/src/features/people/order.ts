/** In which order people are listed. */
import type { Person, PersonUsage } from '@/api/types'

export const ORDERS = ['created', 'name', 'seen', 'tokens', 'size'] as const
export type Order = (typeof ORDERS)[number]

type UsageById = ReadonlyMap<string, PersonUsage>

const tokens = (usage: PersonUsage | undefined): number => usage?.month?.total_tokens ?? -1
const size = (usage: PersonUsage | undefined): number => usage?.home?.bytes ?? -1

/** Sorts people; the largest and the latest come first. `created` is the order of the server. */
export function inOrder(people: readonly Person[], usage: UsageById, order: Order): Person[] {
  const of = ({ id }: Person) => usage.get(id)
  const by: Record<Exclude<Order, 'created'>, (a: Person, b: Person) => number> = {
    name: (a, b) => a.username.localeCompare(b.username),
    seen: (a, b) => (b.last_login_at ?? '').localeCompare(a.last_login_at ?? ''),
    tokens: (a, b) => tokens(of(b)) - tokens(of(a)),
    size: (a, b) => size(of(b)) - size(of(a)),
  }
  return order === 'created' ? [...people] : [...people].sort(by[order])
}
