/** Opens the file that a link means. */
import { open } from '@/features/editor/actions'
import { usePreview } from '@/features/editor/preview'
import type { FileRef } from '@/lib/roots'
import { openFileOf } from '@/stores/buffers'
import { openFile } from '@/stores/ui'
import { partOf } from './text'

/** Opens a note at a heading or block, if the link names one that is there. Read as a page, it stays one. */
export async function openNote(file: FileRef, place: string): Promise<void> {
  if (place === '' || usePreview.getState().view === 'preview') return openFile(file)
  await open(file)
  const state = openFileOf(file)
  const part = state?.phase === 'open' ? partOf(state.buffer.text, place) : null
  openFile(file, part && [part.line, part.line])
}
