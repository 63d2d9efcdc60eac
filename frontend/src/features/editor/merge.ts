/** Shows two versions in one text, with a choice at each difference. */
import { goToNextChunk, unifiedMergeView } from '@codemirror/merge'
import type { Extension } from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import { type Key, t } from '@/lib/i18n'
import '@/lib/later'

/** What the text is compared with: the file on disk, or an earlier version of it. */
export type Other = 'disk' | 'earlier'

/** In CodeMirror, to accept is to keep the text, and to reject is to replace it with the other version. */
export const CHOICES: Readonly<Record<Other, Record<'accept' | 'reject', Key>>> = {
  disk: { accept: 'mergeMine', reject: 'mergeDisk' },
  earlier: { accept: 'mergeKeep', reject: 'mergeBack' },
}

export const compared = (original: string, other: Other): Extension =>
  unifiedMergeView({
    original,
    mergeControls: (name, choose) => {
      const button = document.createElement('button')
      button.type = 'button'
      button.name = name
      button.textContent = t(CHOICES[other][name])
      button.onmousedown = choose
      button.onclick = event => {
        // A pointer has already chosen on mousedown; Enter and Space only click.
        if (event.detail === 0) chooseByKey(button, () => choose(event))
      }
      // A key that is held down decides one difference, not all.
      button.onkeydown = event => {
        if (event.repeat) event.preventDefault()
      }
      return button
    },
  })

/** Moves the cursor and the focus to the same choice of the next difference; after the last one, into the text. */
function chooseByKey(button: HTMLButtonElement, choose: () => void): void {
  const editor = button.closest<HTMLElement>('.cm-editor')
  const view = editor && EditorView.findFromDOM(editor)
  if (!view) return
  view.dispatch({ selection: { anchor: view.posAtDOM(button) } })
  choose()
  view.focus()
  if (!goToNextChunk(view)) return
  const next = view.state.selection.main.head
  view.requestMeasure({
    read: () =>
      [...view.contentDOM.querySelectorAll<HTMLButtonElement>(`.cm-chunkButtons [name=${button.name}]`)].find(
        other => view.posAtDOM(other) === next,
      ),
    write: other => other?.focus(),
  })
}
