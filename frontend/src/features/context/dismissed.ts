/** Conversations in which a person does not want to compact now. Forgotten on a reload. */
import { create } from 'zustand'

const useIds = create<{ ids: ReadonlySet<string> }>(() => ({ ids: new Set() }))

export const dismiss = (session: string): void =>
  useIds.setState(({ ids }) => ({ ids: new Set([...ids, session]) }))

export const useDismissed = (session: string): boolean => useIds(({ ids }) => ids.has(session))
