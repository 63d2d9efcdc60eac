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

/**
 * Writes out invisible characters in a skill, because a person trusts it by what they read. In other files a mark is
 * enough, so that joined emoji stay whole.
 */
export const unseenIn = ({ traits }: FileRef): Extension =>
  highlightSpecialChars(traits.trust ? { addSpecialChars: UNSEEN, render } : {})
