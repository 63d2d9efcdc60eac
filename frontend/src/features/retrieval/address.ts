/** The playground's address describes the trial, so that it can be bookmarked, sent and opened from elsewhere. */
import { DEFAULT_SEARCH_FOLDER, isSearchFolder, type SearchFolder } from '@/lib/roots'

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
  const folder = query.get('folder')
  return {
    query: query.get('query') ?? '',
    folder: isSearchFolder(folder) ? folder : DEFAULT_SEARCH_FOLDER,
    k: Math.round(within(query.get('k'), FEWEST, MOST) ?? USUAL),
    weight: within(query.get('weight'), 0, 1),
    tab: query.get('tab') === 'tests' ? 'tests' : 'search',
  }
}

/** The address contains only what differs from the defaults. */
export function playgroundHref(trial: Partial<Trial>): string {
  const { query = '', folder = DEFAULT_SEARCH_FOLDER, k = USUAL, weight, tab } = trial
  const address = new URLSearchParams()
  if (query !== '') address.set('query', query)
  address.set('folder', folder)
  if (k !== USUAL) address.set('k', String(k))
  if (weight != null) address.set('weight', String(weight))
  if (tab === 'tests') address.set('tab', tab)
  return `${PLAYGROUND}?${address}`
}
