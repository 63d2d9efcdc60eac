/** Which kinds of files are saved by themselves. Kept in this browser. */
import { create } from 'zustand'
import type { Root } from '@/api/endpoints'
import { store, stored } from '@/lib/storage'

type Autosaved = Record<Root, boolean>

/** What shapes the agent itself is saved when a person says so; what it remembers and knows, while they write. */
const USUAL: Autosaved = { memory: true, knowledge: true, workspace: false, skills: false }
const KEY = 'autosave'

function chosen(): Partial<Autosaved> {
  try {
    const kept: unknown = JSON.parse(stored(KEY) ?? '{}')
    const usable = ([root, on]: [string, unknown]) => root in USUAL && typeof on === 'boolean'
    return Object.fromEntries(Object.entries(kept ?? {}).filter(usable))
  } catch {
    return {}
  }
}

export const useAutosave = create<Autosaved>(() => ({ ...USUAL, ...chosen() }))

export function setAutosave(root: Root, on: boolean): void {
  useAutosave.setState({ [root]: on })
  store(KEY, JSON.stringify(useAutosave.getState()))
}
