import type { Extension } from '@codemirror/state'
import { highlightSpecialChars } from '@codemirror/view'
import type { FileRef } from '@/lib/roots'
import { UNSEEN, written } from '@/lib/visible'

function render(code: number, description: string | null): HTMLElement {
  const shown = document.createElement('span')
  shown.className = 'cm-specialChar'
  shown.textContent = written(String.fromCodePoint(code))
  if (description !== null) shown.title = description
  return shown
}

/** A person trusts a skill by what they read of it: what cannot be seen there is written out. Elsewhere a mark must do, so
 *  that joined emoji stay whole. */
export const unseenIn = ({ traits }: FileRef): Extension =>
  highlightSpecialChars(traits.trust ? { addSpecialChars: UNSEEN, render } : {})
