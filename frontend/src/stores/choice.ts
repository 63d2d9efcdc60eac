/** What is chosen for the conversation that has no session yet. */
import { create } from 'zustand'
import type { Chosen } from '@/api/types'

export const useNewChoice = create<{ chosen: Chosen; projectId: string | null }>(() => ({
  chosen: {},
  projectId: null,
}))
