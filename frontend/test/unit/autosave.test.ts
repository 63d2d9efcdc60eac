import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { readFile, writeFile } from '@/api/endpoints'
import { compare, diskChanged, edit, endComparison, open, save, saveUnasked } from '@/features/editor/actions'
import { IDLE_MS } from '@/features/editor/autosave'
import { faultIn } from '@/features/editor/fault'
import { setAutosave, useAutosave } from '@/stores/autosave'
import { bufferOf, useBuffers } from '@/stores/buffers'
import { useToasts } from '@/stores/toasts'
import { useUi } from '@/stores/ui'
import { file } from '../file'

vi.mock('@/api/endpoints', async original => ({
  ...(await original<typeof import('@/api/endpoints')>()),
  readFile: vi.fn(),
  writeFile: vi.fn(),
}))

const usual = useAutosave.getState()
beforeEach(() => {
  vi.useFakeTimers()
  vi.mocked(readFile).mockImplementation(async path => ({
    path,
    content: 'old',
    etag: 'e1',
    size: 3,
    tokens: 1,
  }))
  vi.mocked(writeFile).mockImplementation(async path => ({ path, etag: 'e2', tokens: 1 }) as never)
})
afterEach(() => {
  vi.useRealTimers()
  vi.clearAllMocks()
  useBuffers.setState({ files: {}, comparing: null })
  useAutosave.setState(usual)
  localStorage.clear()
})

const written = () => vi.mocked(writeFile).mock.calls.map(([path, content]) => [path, content])
const wait = (ms: number) => vi.advanceTimersByTimeAsync(ms)

it('memory is saved after a pause, and skills only by a person', async () => {
  await open(file('memory/a.md'))
  edit(file('memory/a.md'), 'new')
  await wait(IDLE_MS - 1)
  edit(file('memory/a.md'), 'newer')
  await wait(IDLE_MS - 1)
  expect(written()).toEqual([])
  await wait(1)
  expect(written()).toEqual([['memory/a.md', 'newer']])
  await open(file('skills/x/SKILL.md'))
  edit(file('skills/x/SKILL.md'), 'new')
  await wait(10 * IDLE_MS)
  saveUnasked(file('skills/x/SKILL.md'))
  expect(written()).toHaveLength(1)
})

it('autosave follows the choice for each root, which is stored', async () => {
  setAutosave('memory', false)
  setAutosave('skills', true)
  expect(JSON.parse(localStorage.getItem('mc:owner:autosave') ?? '')).toEqual({
    ...usual,
    memory: false,
    skills: true,
  })
  for (const path of ['memory/a.md', 'skills/x/SKILL.md']) {
    await open(file(path))
    edit(file(path), 'new')
  }
  await wait(IDLE_MS)
  expect(written()).toEqual([['skills/x/SKILL.md', 'new']])
})

it('autosave waits during a conflict and a comparison', async () => {
  await open(file('memory/a.md'))
  edit(file('memory/a.md'), 'new')
  await compare(file('memory/a.md'))
  await wait(10 * IDLE_MS)
  expect(written()).toEqual([])
  useBuffers.setState({ comparing: null })
  vi.mocked(writeFile).mockRejectedValueOnce(new TypeError('offline'))
  saveUnasked(file('memory/a.md'))
  await wait(10 * IDLE_MS)
  expect(written()).toHaveLength(1)
  expect(bufferOf(file('memory/a.md'))?.state.kind).toBe('dirty')
})

it('a comparison that ends leaves the text to autosave', async () => {
  await open(file('memory/a.md'))
  await compare(file('memory/a.md'))
  edit(file('memory/a.md'), 'taken back')
  await wait(10 * IDLE_MS)
  expect(written()).toEqual([])
  endComparison(file('memory/a.md'))
  await wait(IDLE_MS)
  expect(written()).toEqual([['memory/a.md', 'taken back']])
})

it('text typed during a save is saved afterwards', async () => {
  await open(file('memory/a.md'))
  edit(file('memory/a.md'), 'one')
  vi.mocked(writeFile).mockImplementationOnce(async () => {
    edit(file('memory/a.md'), 'one two')
    return { etag: 'e2', tokens: 1 } as never
  })
  await save(file('memory/a.md'))
  await wait(IDLE_MS)
  expect(written().map(([, content]) => content)).toEqual(['one', 'one two'])
})

it('unparsable text is not autosaved, and saved by hand only the second time', async () => {
  const json = file('knowledge/a.json')
  await open(json)
  edit(json, '{"a": ')
  await wait(IDLE_MS)
  expect(bufferOf(json)?.problem).toContain('auto-saved once this is fixed')
  await save(json)
  expect(bufferOf(json)?.problem).toContain('Save again')
  expect(written()).toEqual([])
  edit(json, '{"a":')
  await save(json)
  expect(written()).toEqual([])
  await save(json)
  expect(written()).toEqual([[`${json}`, '{"a":']])
})

it('errors are found in JSON, YAML and front matter, and nowhere else', async () => {
  expect(await faultIn(file('knowledge/a.json'), '{"a": 1}')).toBeNull()
  expect(await faultIn(file('knowledge/a.json'), '')).toBeNull()
  expect(await faultIn(file('knowledge/a.json'), '{a}')).toMatch(/JSON/)
  expect(await faultIn(file('knowledge/a.yaml'), 'a: 1\n---\nb: [2]\n')).toBeNull()
  expect(await faultIn(file('knowledge/a.yml'), 'a: [1\nb: 2\n')).toMatch(/line 2/)
  expect(await faultIn(file('skills/x/SKILL.md'), '---\nname: x\n---\n: [ not YAML\n')).toBeNull()
  expect(await faultIn(file('skills/x/SKILL.md'), '---\nname: "x\n---\nText.\n')).not.toBeNull()
  expect(await faultIn(file('memory/a.md'), '---\nname: "x\n---\n')).toBeNull()
})

it('a toast reports a change by miniclaw to the open file, but not one by others', async () => {
  const path = 'memory/a.md'
  await open(file(path))
  useUi.setState({ file: file(path) })
  for (const by of ['disk', 'run'] as const) {
    const content = `by ${by}`
    vi.mocked(readFile).mockImplementation(async () => ({ path, content, etag: by, size: 7, tokens: 1 }))
    await diskChanged(file(path), by, by)
    expect(bufferOf(file(path))?.text).toBe(content)
  }
  const told = useToasts.getState().list
  expect(told.map(toast => toast.text)).toEqual(['miniclaw changed memory/a.md.'])
  told[0]?.action?.run()
  expect(useBuffers.getState().comparing).toEqual({ file: file(path), disk: 'by disk' })
  useToasts.setState({ list: [] })
})
