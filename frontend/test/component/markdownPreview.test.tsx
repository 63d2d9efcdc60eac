import { render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { beforeEach, expect, it } from 'vitest'
import { openBuffer } from '@/features/editor/buffer'
import OpenEditor from '@/features/editor/OpenEditor'
import { followScroll, previewed, usePreview } from '@/features/editor/preview'
import { useUi } from '@/stores/ui'
import { Page } from '../commands'
import { serve } from '../fetch'
import { file } from '../file'

beforeEach(() => {
  usePreview.setState({ view: 'text' })
  useUi.setState({ reveal: null })
  serve(() => [404, { code: 'not_found', message: 'no' }])
})

const editor = (path: string, text: string) => (
  <Page>
    <OpenEditor
      buffer={openBuffer(file(path), text, '"1"', 1)}
      comparing={null}
      reveal={null}
      untrusted={false}
    />
  </Page>
)
const toggle = (name: string) => userEvent.click(screen.getByRole('button', { name }))

it('a Markdown file is shown as text, beside its preview, or as preview, and the choice is stored', async () => {
  render(editor('workspace/a.md', '# Tea\n\n<b>hot</b>\n'))
  expect(screen.queryByRole('heading', { name: 'Tea' })).toBeNull()
  await toggle('Show text and preview')
  expect(screen.getByRole('heading', { name: 'Tea' })).toBeTruthy()
  expect(document.querySelector('.cm-content')).toBeTruthy()
  expect(document.querySelector('.md b')).toBeNull()
  await toggle('Show preview')
  expect(document.querySelector('.cm-content')).toBeNull()
  expect(localStorage.getItem('mc:owner:markdownView')).toBe('preview')
  await toggle('Show preview')
  expect(screen.queryByRole('heading', { name: 'Tea' })).toBeNull()
})

it('a file that is not Markdown has no preview', () => {
  usePreview.setState({ view: 'preview' })
  render(editor('workspace/a.py', '# Tea\n'))
  expect(screen.queryByRole('button', { name: 'Show preview' })).toBeNull()
  expect(document.querySelector('.cm-content')).toBeTruthy()
})

it('front matter is a block of code that its text cannot close', () => {
  expect(previewed('---\nname: a\n---\n# A\n')).toBe('~~~yaml\nname: a\n~~~\n\n# A\n')
  expect(previewed('---\nx: |\n  ~~~~\n---\nb')).toBe('~~~~~yaml\nx: |\n  ~~~~\n~~~~~\n\nb')
  expect(previewed('# A\n---\nb\n---\n')).toBe('# A\n---\nb\n---\n')
})

it('the preview scrolls to the same share as the text', () => {
  const box = (scrollHeight: number, scrollTop: number) =>
    Object.defineProperties(document.createElement('div'), {
      scrollHeight: { value: scrollHeight },
      clientHeight: { value: 100 },
      scrollTop: { value: scrollTop, writable: true },
    })
  const to = box(1100, 0)
  followScroll(box(500, 200), to)
  expect(to.scrollTop).toBe(500)
})
