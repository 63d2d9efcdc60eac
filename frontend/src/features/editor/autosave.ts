/** Saves files after nobody has typed for a while. */
import type { FileRef } from '@/lib/roots'
import { useAutosave } from '@/stores/autosave'

export const IDLE_MS = 1500

const waiting = new Map<FileRef, ReturnType<typeof setTimeout>>()

export const isAutosaved = ({ root }: FileRef): boolean => useAutosave.getState()[root]

/** Restarts the timer with each call. */
export function whenIdle(file: FileRef, save: (file: FileRef) => void): void {
  notNow(file)
  if (isAutosaved(file)) waiting.set(file, setTimeout(save, IDLE_MS, file))
}

export function notNow(file: FileRef): void {
  clearTimeout(waiting.get(file))
  waiting.delete(file)
}
