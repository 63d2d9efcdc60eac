/** The model chosen for the conversation that has no session yet. */
import { create } from 'zustand'
import type { Chosen } from '@/api/types'

export const useNewChoice = create<{ chosen: Chosen }>(() => ({ chosen: {} }))
