/** The playground's address describes the trial, so that it can be bookmarked, sent and opened from elsewhere. */
import type { SearchFolder } from '@/api/retrieval'

export const PLAYGROUND = '/playground'
export const FEWEST = 1
export const MOST = 20
export const USUAL = 3

export interface Trial {
  query: string
  folder: SearchFolder
  /** Number of passages that are handed on. */
  k: number
  /** The weight of the meaning that a person chose; null for the server's. */
  weight: number | null
  tab: 'search' | 'tests'
}

const within = (text: string | null, min: number, max: number): number | null => {
  const n = text === null || text.trim() === '' ? Number.NaN : Number(text)
  return n >= min && n <= max ? n : null
}

export function trialOf(search: string): Trial {
  const query = new URLSearchParams(search)
  return {
    query: query.get('query') ?? '',
    folder: query.get('folder') === 'memory' ? 'memory' : 'knowledge',
    k: Math.round(within(query.get('k'), FEWEST, MOST) ?? USUAL),
    weight: within(query.get('weight'), 0, 1),
    tab: query.get('tab') === 'tests' ? 'tests' : 'search',
  }
}

/** The address contains only what differs from the defaults. */
export function playgroundHref({ query = '', folder = 'knowledge', k = USUAL, weight, tab }: Partial<Trial>) {
  const address = new URLSearchParams()
  if (query !== '') address.set('query', query)
  address.set('folder', folder)
  if (k !== USUAL) address.set('k', String(k))
  if (weight != null) address.set('weight', String(weight))
  if (tab === 'tests') address.set('tab', tab)
  return `${PLAYGROUND}?${address}`
}
