/** The playground's address says what is tried there, so that a trial can be kept, sent and opened from elsewhere. */
import type { SearchFolder } from '@/api/retrieval'

export const PLAYGROUND = '/playground'
export const FEWEST = 1
export const MOST = 20
export const USUAL = 3

export interface Trial {
  query: string
  folder: SearchFolder
  /** How many passages are handed on. */
  k: number
  /** The meaning's weight chosen by hand; null: the server's. */
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

/** Only what differs from the usual is in the address. */
export function playgroundHref({ query = '', folder = 'knowledge', k = USUAL, weight, tab }: Partial<Trial>) {
  const address = new URLSearchParams()
  if (query !== '') address.set('query', query)
  address.set('folder', folder)
  if (k !== USUAL) address.set('k', String(k))
  if (weight != null) address.set('weight', String(weight))
  if (tab === 'tests') address.set('tab', tab)
  return `${PLAYGROUND}?${address}`
}
