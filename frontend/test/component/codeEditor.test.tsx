import { openSearchPanel } from '@codemirror/search'
import { EditorView } from '@codemirror/view'
import { act, render, screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, expect, it } from 'vitest'
import { openBuffer } from '@/features/editor/buffer'
import CodeEditor from '@/features/editor/CodeEditor'
import { EditorBar } from '@/features/editor/EditorBar'
import { setLang } from '@/lib/i18n'
import { Page } from '../commands'
import { file } from '../file'

afterEach(() => act(() => setLang('en')))

const nothing = () => {}
const editor = (compareWith: string | null, other: 'disk' | 'earlier' = 'disk') => (
  <CodeEditor
    file={file('workspace/a.txt')}
    model={{}}
    text={'one\ntwo\n'}
    revision={0}
    label="Text"
    onEdit={nothing}
    onLeave={nothing}
    reveal={null}
    cut={null}
    {...{ compareWith, other }}
  />
)
const lines = () => [...document.querySelectorAll('.cm-line')].map(line => line.textContent)

it('a shortcut that leads to another session does not edit the text', async () => {
  render(editor(null))
  await userEvent.click(screen.getByRole('textbox', { name: 'Text' }))
  await userEvent.keyboard('{Alt>}{ArrowDown}{/Alt}')
  expect(lines()).toEqual(['one', 'two', ''])
})

it('the text is in the tab order, so that its scroll area is reachable by keyboard', () => {
  render(editor(null))
  expect(screen.getByRole('textbox', { name: 'Text' }).getAttribute('tabindex')).toBe('0')
})

it('the choices between two versions follow the language of the page', async () => {
  const { rerender } = render(editor('one\n2\n'))
  await screen.findByRole('button', { name: 'Use the version on disk' })
  await act(() => setLang('zh'))
  await screen.findByRole('button', { name: '使用磁盘上的版本' })
  await act(() => setLang('en'))
  rerender(editor(null))
  await waitFor(() => expect(screen.queryByRole('button')).toBeNull())
  rerender(editor('one\n2\n', 'earlier'))
  await screen.findByRole('button', { name: 'Revert change' })
})

it('the search panel follows the language of the page', async () => {
  render(editor(null))
  const view = EditorView.findFromDOM(screen.getByRole('textbox', { name: 'Text' }))
  act(() => void (view && openSearchPanel(view)))
  await screen.findByRole('button', { name: 'Replace all' })
  await act(() => setLang('zh'))
  await screen.findByRole('button', { name: '全部替换' })
})

it('the token cost shows once', () => {
  const bar = (tokensBelow: boolean) => (
    <Page>
      <EditorBar
        view={null}
        buffer={openBuffer(file('memory/a.md'), 'x', 'e', 42)}
        comparing={false}
        tokensBelow={tokensBelow}
      />
    </Page>
  )
  const { rerender } = render(bar(false))
  expect(screen.queryByText('42 tokens')).not.toBeNull()
  rerender(bar(true))
  expect(screen.queryByText('42 tokens')).toBeNull()
})
