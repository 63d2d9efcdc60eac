import { markdownKeymap, markdownLanguage, pasteURLAsLink } from '@codemirror/lang-markdown'
import { foldService, LanguageSupport, syntaxTree } from '@codemirror/language'
import { Prec } from '@codemirror/state'
import { keymap } from '@codemirror/view'

const levelOf = (name: string): number => Number(/^(?:ATX|Setext)Heading(\d)$/.exec(name)?.[1] ?? 0)

/** A heading folds the text below it, up to the next heading that is not deeper. */
const sections = foldService.of((state, from, to) => {
  let node = syntaxTree(state).resolveInner(to, -1)
  while (node.parent && !levelOf(node.name)) node = node.parent
  const level = levelOf(node.name)
  if (!level || node.from < from) return null
  let last = node
  for (let next = node.nextSibling; next; next = next.nextSibling) {
    const other = levelOf(next.name)
    if (other && other <= level) break
    last = next
  }
  return last.to > to ? { from: to, to: last.to } : null
})

/**
 * Markdown with GitHub's tables, task lists and strikethrough. Assembled here rather than by the package's
 * `markdown()`, which includes the parsers of HTML, CSS and JavaScript for embedded tags, three quarters of its size.
 */
export const markdown = (): LanguageSupport =>
  new LanguageSupport(markdownLanguage, [sections, Prec.high(keymap.of(markdownKeymap)), pasteURLAsLink])
