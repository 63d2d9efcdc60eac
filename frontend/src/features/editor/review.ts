/** Reviews what an answer changed in a file: its text is compared with the one before, difference by difference. */
import { readBefore } from '@/api/endpoints'
import { type Key, t } from '@/lib/i18n'
import '@/lib/later'
import { reasonOf } from '@/lib/reason'
import { FileRef } from '@/lib/roots'
import { bufferOf, useBuffers } from '@/stores/buffers'
import { toast } from '@/stores/toasts'
import { openFile, useUi } from '@/stores/ui'
import { open } from './actions'
import { OpenEditor } from './EditorPane'
import { focusText } from './focusText'

export interface Reviewed {
  sessionId: string
  /** The work whose changes are reviewed. */
  workId: string
  path: string
}

/** Opens the file, and shows the text that it had before the work at each difference. */
export async function reviewFile({ sessionId, workId, path }: Reviewed): Promise<void> {
  const file = FileRef.parse(path)
  if (!file) return
  OpenEditor.preload()
  const opened = open(file)
  openFile(file)
  focusText(file)
  try {
    const [before] = await Promise.all([readBefore(sessionId, workId, path), opened, import('./merge')])
    const why = useUi.getState().file === file ? compareWith(file, before) : null
    if (why) toast(t(why, { path }))
  } catch (error) {
    toast(t('notDone', { reason: reasonOf(error) }), { tone: 'bad' })
  }
}

/** Starts the comparison. Returns the text that says why there is none, or null. */
function compareWith(file: FileRef, before: string | null): Key | null {
  const buffer = bufferOf(file)
  // The pane says why a file could not be opened.
  if (!buffer) return null
  if (buffer.state.kind === 'conflict') return 'reviewConflict'
  if (before === null) return 'reviewNew'
  const line = firstDifference(buffer.text, before)
  if (line === null) return 'reviewSame'
  useBuffers.setState({ comparing: { file, disk: before } })
  openFile(file, [line, line])
  return null
}

const linesOf = (text: string): string[] => text.split(/\r\n|\r|\n/)

/** The number of the first line of `text` that differs from `other`; null if all lines are the same. */
export function firstDifference(text: string, other: string): number | null {
  const [lines, others] = [linesOf(text), linesOf(other)]
  const at = lines.findIndex((line, i) => line !== others[i])
  if (at >= 0) return at + 1
  return others.length > lines.length ? lines.length : null
}
