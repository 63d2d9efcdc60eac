/** What is chosen for the conversation that has no session yet. */
import { create } from 'zustand'
import type { NewChoice } from '@/api/endpoints'

export const useNewChoice = create<NewChoice>(() => ({
  chosen: {},
  projectId: null,
}))
