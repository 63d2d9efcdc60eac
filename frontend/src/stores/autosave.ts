/** The roots whose files are saved automatically. Stored in this browser. */
import { create } from 'zustand'
import { type HomeRoot, ROOT_TRAITS, ROOTS } from '@/lib/roots'
import { store, stored } from '@/lib/storage'

type Autosaved = Record<HomeRoot, boolean>

const USUAL = Object.fromEntries(ROOTS.map(root => [root, ROOT_TRAITS[root].autosave])) as Autosaved
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

export function setAutosave(root: HomeRoot, on: boolean): void {
  useAutosave.setState({ [root]: on })
  store(KEY, JSON.stringify(useAutosave.getState()))
}
