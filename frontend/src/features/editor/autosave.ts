/** Saves files after nobody has typed for a while. */
import type { FileRef, Root } from '@/lib/roots'
import { useAutosave } from '@/stores/autosave'

export const IDLE_MS = 1500

const timers = new Map<FileRef, ReturnType<typeof setTimeout>>()

export const isAutosaved = ({ root }: FileRef): boolean =>
  (useAutosave.getState() as Partial<Record<Root, boolean>>)[root] ?? false

/** Restarts the timer with each call. */
export function scheduleAutosave(file: FileRef, save: (file: FileRef) => void): void {
  cancelAutosave(file)
  if (isAutosaved(file)) timers.set(file, setTimeout(save, IDLE_MS, file))
}

export function cancelAutosave(file: FileRef): void {
  clearTimeout(timers.get(file))
  timers.delete(file)
}
