import { insertNewlineContinueMarkup } from '@codemirror/lang-markdown'
import { ensureSyntaxTree, foldable } from '@codemirror/language'
import { EditorState } from '@codemirror/state'
import { describe, expect, it } from 'vitest'
import { languageIfLoaded, languageOf } from '@/features/editor/languages'
import { markdown } from '@/features/editor/markdown'

describe('the language of a file', () => {
  it('is available at once after it is loaded', async () => {
    expect(languageIfLoaded('memory/a.md')).toBeUndefined()
    const found = await languageOf('memory/a.md')
    expect(languageIfLoaded('memory/B.MD')).toBe(found)
  })

  it('is none for any other extension, whatever it is called', async () => {
    for (const path of ['a.bin', 'b', 'c.constructor', 'd.toString', '']) {
      expect(languageIfLoaded(path)).toEqual([])
      expect(await languageOf(path)).toEqual([])
    }
  })
})

const stateOf = (doc: string) => {
  const state = EditorState.create({ doc, extensions: markdown() })
  ensureSyntaxTree(state, doc.length, 5000)
  // A state keeps the tree it was made with, which a busy machine leaves incomplete; the next one takes the whole tree.
  return state.update({}).state
}
/** The text that is folded below a line, 1-based. */
const foldedAt = (doc: string, number: number): string | null => {
  const state = stateOf(doc)
  const { from, to } = state.doc.line(number)
  const range = foldable(state, from, to)
  return range && state.sliceDoc(range.from, range.to)
}

describe('Markdown in the editor', () => {
  const doc = '# One\na\n## Two\nb\n### Three\nc\n## Four\nd\n# Five\ne'

  it('folds a heading up to the next that is not deeper', () => {
    expect(foldedAt(doc, 1)).toBe('\na\n## Two\nb\n### Three\nc\n## Four\nd')
    expect(foldedAt(doc, 3)).toBe('\nb\n### Three\nc')
    expect(foldedAt(doc, 9)).toBe('\ne')
  })

  it('highlights the fields at the top of a file, and folds the headings below', async () => {
    const fields = '---\ntags: [a]\n---\n# One\na\n# Two'
    const state = EditorState.create({ doc: fields, extensions: await languageOf('a.md') })
    const tree = ensureSyntaxTree(state, fields.length, 5000)
    expect(tree?.resolveInner(fields.indexOf('tags') + 1, 1).name).not.toMatch(/Paragraph|Heading/)
    const whole = state.update({}).state
    const { from, to } = whole.doc.line(4)
    const range = foldable(whole, from, to)
    expect(range && whole.sliceDoc(range.from, range.to)).toBe('\na')
  })

  it('folds no paragraph and no empty section', () => {
    expect(foldedAt(doc, 2)).toBeNull()
    expect(foldedAt('# One\n# Two', 1)).toBeNull()
    expect(foldedAt('One\n===\n\ntext', 2)).toBeNull()
  })

  it('supports tables and continues lists', () => {
    const names: string[] = []
    ensureSyntaxTree(stateOf('|a|b|\n|-|-|\n|1|2|'), 100, 5000)?.iterate({
      enter: node => void names.push(node.name),
    })
    expect(names).toContain('Table')
    let state = EditorState.create({ doc: '- a', extensions: markdown(), selection: { anchor: 3 } })
    ensureSyntaxTree(state, 3, 5000)
    const done = insertNewlineContinueMarkup({ state, dispatch: change => (state = change.state) })
    expect([done, state.doc.toString()]).toEqual([true, '- a\n- '])
  })
})
