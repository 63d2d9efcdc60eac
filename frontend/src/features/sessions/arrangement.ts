/** How this browser filters and sorts the list of conversations. */
import { create } from 'zustand'
import { store, stored } from '@/lib/storage'

export const SORTS = ['activity', 'created', 'title'] as const
export const FILTERS = ['all', 'unread', 'running', 'waiting'] as const

export interface Arrangement {
  sort: (typeof SORTS)[number]
  filter: (typeof FILTERS)[number]
}

export const useArrangement = create<Arrangement>(() => ({
  sort: SORTS.find(sort => sort === stored('sessionSort')) ?? 'activity',
  filter: FILTERS.find(filter => filter === stored('sessionFilter')) ?? 'all',
}))

useArrangement.subscribe(({ sort, filter }) => {
  store('sessionSort', sort)
  store('sessionFilter', filter)
})
