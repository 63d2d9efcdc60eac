import { isDirty } from '@/features/editor/buffer'
import { useBuffers } from '@/stores/buffers'
import { isHeld, useLive } from '@/stores/live'

/** Whether closing the page would lose typed text: of a file, or of a message that waits for the server. */
export function hasUnsavedText(): boolean {
  const files = Object.values(useBuffers.getState().files)
  const messages = Object.values(useLive.getState().outbox).flat()
  return files.some(file => file.phase === 'open' && isDirty(file.buffer)) || messages.some(isHeld)
}
