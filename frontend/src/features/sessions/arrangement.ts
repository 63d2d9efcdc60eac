/** How this browser filters and sorts the list of conversations. */
import { create } from 'zustand'
import { store, stored } from '@/lib/storage'

export const SORTS = ['activity', 'created', 'title'] as const
export const FILTERS = ['all', 'unread', 'running', 'waiting'] as const

export interface Arrangement {
  sort: (typeof SORTS)[number]
  /** One of the filters, or those with a label. */
  filter: (typeof FILTERS)[number] | `label:${string}`
}

const isLabel = (filter: string): filter is `label:${string}` => filter.startsWith('label:')
const restored = (filter: string | null): Arrangement['filter'] =>
  FILTERS.find(known => known === filter) ?? (filter && isLabel(filter) ? filter : 'all')

/** The label that the list is filtered by; null for the other filters. */
export const labelOf = (filter: Arrangement['filter']): string | null =>
  isLabel(filter) ? filter.slice('label:'.length) : null

export const useArrangement = create<Arrangement>(() => ({
  sort: SORTS.find(sort => sort === stored('sessionSort')) ?? 'activity',
  filter: restored(stored('sessionFilter')),
}))

useArrangement.subscribe(({ sort, filter }) => {
  store('sessionSort', sort)
  store('sessionFilter', filter)
})
