import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { advanceBuffer, openBuffer } from '@/features/editor/buffer'
import { firstDifference, reviewFile } from '@/features/editor/review'
import { bufferOf, putFile, useBuffers } from '@/stores/buffers'
import { useToasts } from '@/stores/toasts'
import { useUi } from '@/stores/ui'
import { serve } from '../fetch'
import { file } from '../file'

const path = 'memory/a.md'
const review = () => reviewFile({ sessionId: 's', workId: 'w 1', path })
const toasts = () => useToasts.getState().list.map(({ text }) => text)
const compared = () => useBuffers.getState().comparing

let asked: string[]
function answer(before: string | null, status = 200) {
  serve(({ path: at }) => {
    asked.push(at)
    if (at.startsWith('/api/files'))
      return [200, { path, content: 'one\nnew\n', etag: 'e1', size: 8, tokens: 3 }]
    return [status, status === 200 ? { path, before } : { code: 'not_found', message: 'nothing stands' }]
  })
}
beforeEach(() => {
  asked = []
})
afterEach(() => {
  vi.unstubAllGlobals()
  useBuffers.setState({ files: {}, comparing: null })
  useToasts.setState({ list: [] })
  useUi.setState({ file: null, reveal: null, pane: 'chat' })
})

it('the file opens at its first difference from the text before', async () => {
  answer('one\nold\n')
  await review()
  expect(asked.toSorted()).toEqual([
    '/api/files?path=memory%2Fa.md',
    '/api/sessions/s/works/w%201/before?path=memory%2Fa.md',
  ])
  expect(compared()).toEqual({ file: file(path), disk: 'one\nold\n' })
  const { file: shown, pane, reveal } = useUi.getState()
  expect([shown, pane, reveal?.lines]).toEqual([file(path), 'right', [2, 2]])
  expect(toasts()).toEqual([])
})

it('unsaved edits are compared too', async () => {
  answer('one\nold\n')
  const edited = advanceBuffer(openBuffer(file(path), 'one\nnew\n', 'e1', 3), {
    type: 'edited',
    text: 'mine\nold\n',
  })
  putFile(file(path), { phase: 'open', buffer: edited })
  await review()
  expect(compared()?.disk).toBe('one\nold\n')
  expect(useUi.getState().reveal?.lines).toEqual([1, 1])
  expect(bufferOf(file(path))?.text).toBe('mine\nold\n')
})

it('a conflict comes first', async () => {
  answer('one\nold\n')
  const buffer = advanceBuffer(openBuffer(file(path), 'one\nnew\n', 'e1', 3), {
    type: 'disk_changed',
    etag: 'e2',
    by: 'disk',
  })
  putFile(file(path), { phase: 'open', buffer })
  await review()
  expect(compared()).toBeNull()
  expect(toasts()).toEqual(['Resolve the conflict in memory/a.md first, then review the changes.'])
})

it('a file without another text before says so instead', async () => {
  answer(null)
  await review()
  answer('one\r\nnew\r\n')
  await review()
  answer('', 404)
  await review()
  expect(compared()).toBeNull()
  expect(toasts()).toEqual([
    'memory/a.md didn’t exist before this response.',
    'memory/a.md is the same as before this response.',
    'Something went wrong: nothing stands',
  ])
})

it('a person who has opened another file in the meantime stays there', async () => {
  answer('one\nold\n')
  const done = review()
  useUi.setState({ file: file('memory/b.md') })
  await done
  expect(compared()).toBeNull()
  expect(useUi.getState().file).toBe(file('memory/b.md'))
})

it('a file that is being loaded is reviewed once it is there, and loaded once', async () => {
  answer('one\nold\n')
  await Promise.all([review(), review()])
  expect(asked.filter(at => at.startsWith('/api/files'))).toHaveLength(1)
  expect(compared()?.disk).toBe('one\nold\n')
})

it('the first difference may be a line that is missing', () => {
  expect(firstDifference('a\nb', 'a\nb')).toBeNull()
  expect(firstDifference('a\nb\nc', 'a\nc')).toBe(2)
  expect(firstDifference('a\nb', 'a\nb\nc')).toBe(2)
  expect(firstDifference('', 'a')).toBe(1)
  expect(firstDifference('a\r\nb', 'a\nb')).toBeNull()
})
