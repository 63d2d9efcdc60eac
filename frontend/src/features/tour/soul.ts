/** The line that the tour suggests for SOUL.md. */
import { edit, open, save } from '@/features/editor/actions'
import { isDirty } from '@/features/editor/buffer'
import { SOUL } from '@/lib/roots'
import { bufferOf, dispatchBuffer, useBuffers } from '@/stores/buffers'
import { openFile } from '@/stores/ui'

export type LineState = 'absent' | 'unsaved' | 'saved'

const linesOf = (text: string): string[] => text.split('\n').map(line => line.trim())
const has = (text: string, line: string): boolean => linesOf(text).includes(line)

/** Whether the open SOUL.md contains the line, and whether it is saved. */
export function useLine(line: string): LineState {
  const file = useBuffers(({ files }) => files[`${SOUL}`])
  if (file?.phase !== 'open' || !has(file.buffer.text, line)) return 'absent'
  return isDirty(file.buffer) ? 'unsaved' : 'saved'
}

function replace(text: string): void {
  dispatchBuffer(SOUL, { type: 'replaced', text })
  edit(SOUL, text)
}

/** Shows SOUL.md with the line at its end, unsaved. */
export async function addLine(line: string): Promise<void> {
  openFile(SOUL)
  await open(SOUL)
  const text = bufferOf(SOUL)?.text
  if (text !== undefined && !has(text, line)) replace(`${text.trimEnd()}\n\n${line}\n`)
}

/** Returns whether the file is saved. */
export async function saveSoul(): Promise<boolean> {
  await save(SOUL)
  return bufferOf(SOUL)?.state.kind === 'clean'
}

/** Removes the line, and saves the file unless it has other unsaved edits. */
export async function removeLine(line: string): Promise<void> {
  const buffer = bufferOf(SOUL)
  if (!buffer) return
  const kept = buffer.text.split('\n').filter(other => other.trim() !== line)
  replace(`${kept.join('\n').trimEnd()}\n`)
  if (isDirty(buffer)) openFile(SOUL)
  else await save(SOUL)
}
