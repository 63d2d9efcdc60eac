/** How a Markdown file is shown: as text, as the formatted page, or both. Stored in this browser. */
import { create } from 'zustand'
import type { FileRef } from '@/lib/roots'
import { store, stored } from '@/lib/storage'
import { useUi } from '@/stores/ui'

export type View = 'text' | 'both' | 'preview'
const KEY = 'markdownView'

const chosen = stored(KEY)
export const usePreview = create<{ view: View }>(() => ({
  view: chosen === 'both' || chosen === 'preview' ? chosen : 'text',
}))

export const isMarkdown = ({ path }: FileRef): boolean => /\.(md|markdown)$/i.test(path)

/** Chooses a view, or returns to the text if it is already shown. */
export function togglePreview(view: View, shown: View): void {
  const next = view === shown ? 'text' : view
  usePreview.setState({ view: next })
  store(KEY, next)
  // Lines that were shown in the text no longer hold the text open.
  useUi.setState({ reveal: null })
}

const FRONT_MATTER = /^---\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/

/** The Markdown of a file, with its front matter as a block of code. */
export function previewed(text: string): string {
  const found = FRONT_MATTER.exec(text)
  if (!found) return text
  const yaml = found[1] ?? ''
  const longest = Math.max(0, ...[...yaml.matchAll(/^ *(~+)/gm)].map(([, run]) => run?.length ?? 0))
  const fence = '~'.repeat(Math.max(3, longest + 1))
  return `${fence}yaml\n${yaml}\n${fence}\n\n${text.slice(found[0].length)}`
}

/** Scrolls `to` to the same share of its length as `from`. */
export function followScroll(from: HTMLElement, to: HTMLElement): void {
  const room = from.scrollHeight - from.clientHeight
  if (room > 0) to.scrollTop = (from.scrollTop / room) * (to.scrollHeight - to.clientHeight)
}
