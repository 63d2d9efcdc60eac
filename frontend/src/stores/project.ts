/**
 * The project whose conversations are listed, and that new ones are bound to; null for all conversations, and none.
 * Remembered by this browser.
 */
import { create } from 'zustand'
import { store, stored } from '@/lib/storage'

export const useProject = create<{ id: string | null }>(() => ({ id: stored('project') }))

useProject.subscribe(({ id }) => store('project', id))
