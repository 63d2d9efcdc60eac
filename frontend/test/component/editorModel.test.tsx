import { redo, undo } from '@codemirror/commands'
import { EditorState, Facet } from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import { act, render, screen, waitFor } from '@testing-library/react'
import { expect, test, vi } from 'vitest'
import { advanceBuffer, openBuffer } from '@/features/editor/buffer'
import CodeEditor from '@/features/editor/CodeEditor'
import { registerEditorExtension } from '@/features/editor/extensions'
import { changeTo, type ModelKey } from '@/features/editor/models'
import { file } from '../file'

interface Shown {
  model: ModelKey
  text: string
  path?: string
  onEdit?: (text: string) => void
}
const nothing = () => {}
const editor = ({ model, text, path = 'workspace/a.txt', onEdit = nothing }: Shown) => (
  <CodeEditor
    key={path}
    file={file(path)}
    model={model}
    text={text}
    revision={0}
    label="Text"
    onEdit={onEdit}
    onLeave={nothing}
    compareWith={null}
    other="disk"
    reveal={null}
    cut={null}
  />
)
function view(): EditorView {
  const found = EditorView.findFromDOM(screen.getByRole('textbox', { name: 'Text' }))
  if (!found) throw new Error('no editor')
  return found
}
const type = (insert: string) =>
  act(() => view().dispatch({ changes: { from: 0, insert }, selection: { anchor: insert.length } }))

test('undo history and cursor survive a switch of files', () => {
  const [a, b] = [{}, {}]
  const { rerender } = render(editor({ model: a, text: 'one' }))
  type('typed ')
  rerender(editor({ model: b, text: 'other', path: 'workspace/b.txt' }))
  expect(view().state.doc.toString()).toBe('other')
  const onEdit = vi.fn()
  rerender(editor({ model: a, text: 'typed one', onEdit }))
  expect(view().state.selection.main.head).toBe(6)
  expect(onEdit).not.toHaveBeenCalled()
  act(() => void undo(view()))
  expect(onEdit).toHaveBeenCalledExactlyOnceWith('one')
  act(() => void redo(view()))
  expect(view().state.doc.toString()).toBe('typed one')
})

test('text replaced while hidden is one more undo step', () => {
  const model = {}
  const { unmount } = render(editor({ model, text: 'one\ntwo' }))
  type('typed ')
  unmount()
  render(editor({ model, text: 'from disk\ntwo' }))
  expect(view().state.doc.toString()).toBe('from disk\ntwo')
  act(() => void undo(view()))
  expect(view().state.doc.toString()).toBe('typed one\ntwo')
})

test('renamed and reloaded buffers keep their model', () => {
  const buffer = openBuffer(file('memory/a.md'), 'x', 'e1', 1)
  const loaded = advanceBuffer(buffer, { type: 'disk_loaded', content: 'y', etag: 'e2', tokens: 1 })
  expect(loaded.model).toBe(buffer.model)
  expect(openBuffer(file('memory/a.md'), 'x', 'e1', 1).model).not.toBe(buffer.model)
})

test('different line endings are not a change', () => {
  const state = EditorState.create({ doc: 'one\ntwo' })
  expect(changeTo(state, 'one\r\ntwo')).toBeNull()
  expect(changeTo(state, 'one\r\n2')).toEqual({ from: 4, to: 7, insert: '2' })
})

test('registered extensions reach open editors and leave them', async () => {
  const seen = Facet.define<string>()
  const words = () => view().state.facet(seen)
  const remove = registerEditorExtension({ id: 'early', extensionOf: ({ path }) => seen.of(`early ${path}`) })
  render(editor({ model: {}, text: 'one' }))
  expect(words()).toEqual(['early a.txt'])
  let removeLate = nothing
  act(() => {
    removeLate = registerEditorExtension({ id: 'late', extensionOf: async () => seen.of('late') })
    registerEditorExtension({ id: 'broken', extensionOf: () => Promise.reject(new Error('gone')) })
  })
  await waitFor(() => expect(words()).toEqual(['early a.txt', 'late']))
  act(remove)
  act(removeLate)
  await waitFor(() => expect(words()).toEqual([]))
})
