import { beforeEach, expect, it } from 'vitest'
import { openBuffer } from '@/features/editor/buffer'
import { useTabs } from '@/features/editor/tabs'
import { deleteFolder, renameFolder } from '@/features/inspector/folders'
import { FileRef } from '@/lib/roots'
import { bufferOf, dispatchBuffer, putFile, useBuffers } from '@/stores/buffers'
import { useUi } from '@/stores/ui'
import { serve } from '../fetch'

const at = (path: string) => FileRef.of('project/p1', path)

beforeEach(() => {
  useUi.setState({ file: null })
  useBuffers.setState({ files: {} })
  useTabs.setState({ tabs: [at('docs/a.md'), at('docs2/b.md')] })
  serve(() => [200, { code: 0, data: { trash: 't1' } }])
})

it('a tab that is not loaded follows its folder', async () => {
  expect(await renameFolder(at('docs'), at('texts'))).toBe(null)
  expect(useTabs.getState().tabs.map(({ path }) => path)).toEqual(['texts/a.md', 'docs2/b.md'])
})

it('a tab that is not loaded goes with its folder', async () => {
  await deleteFolder(at('docs'))
  expect(useTabs.getState().tabs.map(({ path }) => path)).toEqual(['docs2/b.md'])
})

it('an open file is whole at its new place, although its old one was gone before the answer', async () => {
  const file = at('docs/a.md')
  putFile(file, { phase: 'open', buffer: openBuffer(file, 'A', 'e1', 1) })
  serve(() => {
    dispatchBuffer(file, { type: 'disk_deleted' })
    return [200, { code: 0, data: null }]
  })
  expect(await renameFolder(at('docs'), at('texts'))).toBe(null)
  expect(bufferOf(at('texts/a.md'))).toMatchObject({ state: { kind: 'clean' }, base: { etag: 'e1' } })
})

it('an open file that is saved while its folder moves keeps the version of the save', async () => {
  const file = at('docs/a.md')
  putFile(file, { phase: 'open', buffer: openBuffer(file, 'A', 'e1', 1) })
  serve(() => {
    dispatchBuffer(file, { type: 'saved', content: 'B', etag: 'e2', tokens: 1, at: 1 })
    return [200, { code: 0, data: null }]
  })
  expect(await renameFolder(at('docs'), at('texts'))).toBe(null)
  expect(bufferOf(at('texts/a.md'))?.base).toEqual({ content: 'B', etag: 'e2' })
})
