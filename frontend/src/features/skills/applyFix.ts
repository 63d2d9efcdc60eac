/** Fixes in the open text: one step that can be undone. Saving stays the person's decision, or that of auto-save. */
import { isolateHistory } from '@codemirror/commands'
import { edit } from '@/features/editor/actions'
import { changeTo, viewOf } from '@/features/editor/models'
import type { FileRef } from '@/lib/roots'
import { bufferOf, dispatchBuffer } from '@/stores/buffers'
import { openFile } from '@/stores/ui'
import type { ProblemCode } from './check'
import { type Fix, fixOf } from './fixes'

/** Fixes a problem of the text as it is now, and puts the cursor there. */
export function applyFix(file: FileRef, code: ProblemCode, folder: string): void {
  const buffer = bufferOf(file)
  if (!buffer) return
  const view = viewOf(buffer.model)
  // The editor's own text has its own ends of lines, and only there a place in it is right.
  const fix = fixOf(code, view ? view.state.doc.toString() : buffer.text, folder)
  if (!fix) return
  if (!view) {
    withoutView(file, fix)
    return
  }
  const change = changeTo(view.state, fix.text)
  view.dispatch({
    changes: change ?? [],
    selection: { anchor: fix.cursor ?? (change ? change.from + change.insert.length : 0) },
    scrollIntoView: true,
    userEvent: 'input.fix',
    annotations: isolateHistory.of('full'),
  })
  // The button is gone with its problem. A touch screen would open its keyboard for a text that is finished.
  if (fix.kind === 'write' || !matchMedia('(pointer: coarse)').matches) view.focus()
}

/** Only the preview is shown: the text opens at the line that has changed. */
function withoutView(file: FileRef, { text, cursor }: Fix): void {
  const before = bufferOf(file)?.text ?? ''
  let from = 0
  while (from < text.length && before[from] === text[from]) from++
  dispatchBuffer(file, { type: 'replaced', text })
  edit(file, text)
  const line = text.slice(0, cursor ?? from).split('\n').length
  openFile(file, [line, line])
}
