/** Files that save themselves when nobody has typed for a while. */
import { rootOf } from '@/lib/roots'
import { useAutosave } from '@/stores/autosave'

export const IDLE_MS = 1500

const waiting = new Map<string, ReturnType<typeof setTimeout>>()

export const isAutosaved = (path: string): boolean => useAutosave.getState()[rootOf(path)]

/** From the last call on, the time is counted anew. */
export function whenIdle(path: string, save: (path: string) => void): void {
  notNow(path)
  if (isAutosaved(path)) waiting.set(path, setTimeout(save, IDLE_MS, path))
}

export function notNow(path: string): void {
  clearTimeout(waiting.get(path))
  waiting.delete(path)
}
