import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { ApiError } from '@/api/client'
import type { ArrivedFile, Project } from '@/api/types'
import * as uploads from '@/api/uploads'
import type { ChosenFolder, Progress } from '@/features/project/folder'
import {
  BATCH_BYTES,
  BATCH_FILES,
  compare,
  DISCARD,
  nextBatch,
  uploadFolder,
} from '@/features/project/resume'

vi.mock('@/api/uploads')
const api = vi.mocked(uploads)

const given = (path: string, size: number, lastModified = 5) => ({
  path,
  file: { size, lastModified, name: path } as File,
})
const arrivedOf = (files: readonly { path: string; file: File }[]): ArrivedFile[] =>
  files.map(({ path, file }) => ({ path, size: file.size, modified: file.lastModified }))
const folderOf = (...files: ReturnType<typeof given>[]): ChosenFolder => ({
  ...{ name: 'tea', files, bytes: files.reduce((sum, { file }) => sum + file.size, 0) },
})

/** A server with one upload. */
let there: Map<string, ArrivedFile> | null = null
let told: Progress[] = []
const lost = () => new ApiError(0, { code: 'no_answer' })
const run = (folder: ChosenFolder, signal = new AbortController().signal) =>
  uploadFolder({
    ...{ name: 'Tea', description: '', folder, signal },
    onProgress: progress => told.push(progress),
  })

beforeEach(() => {
  vi.useFakeTimers()
  localStorage.clear()
  there = null
  told = []
  api.beginUpload.mockImplementation(async () => {
    there = new Map()
    return { id: 'u' } as Awaited<ReturnType<typeof uploads.beginUpload>>
  })
  api.listUploads.mockResolvedValue([])
  api.listArrived.mockImplementation(async () => {
    if (!there) throw new ApiError(404, { code: 404, reason: 'no_upload' })
    return [...there.values()]
  })
  api.sendFiles.mockImplementation(async (_, files) => {
    for (const file of arrivedOf(files)) there?.set(file.path, file)
  })
  api.removeArrived.mockImplementation(async (_, path) => there?.delete(path))
  api.commitUpload.mockImplementation(async (_, { name, files }) => {
    expect(there?.size).toBe(files)
    there = null
    return { id: 'p', name } as Project
  })
  api.cancelUpload.mockResolvedValue(null)
})

afterEach(() => {
  vi.useRealTimers()
  vi.clearAllMocks()
})

it('only what is missing or has changed is sent', () => {
  const files = [given('a', 1), given('b', 2), given('c', 3)]
  const arrived = arrivedOf([given('a', 1), given('b', 2, 6), given('old', 9)])
  const { rest, extra } = compare(files, arrived)
  expect(rest.map(({ path }) => path)).toEqual(['b', 'c'])
  expect(extra).toEqual(['old'])
})

it('a batch has a bounded size, and at least one file', () => {
  expect(nextBatch([given('a', BATCH_BYTES * 2), given('b', 1)])).toHaveLength(1)
  expect(nextBatch([given('a', BATCH_BYTES - 1), given('b', 1), given('c', 1)])).toHaveLength(2)
  expect(nextBatch(Array.from({ length: BATCH_FILES + 9 }, (_, n) => given(`${n}`, 0)))).toHaveLength(
    BATCH_FILES,
  )
  expect(nextBatch([])).toEqual([])
})

it('an upload goes on after the connection was lost, and sends nothing twice', async () => {
  const files = Array.from({ length: BATCH_FILES * 3 }, (_, n) => given(`tea/${n}`, 1))
  const send = api.sendFiles.getMockImplementation()
  let calls = 0
  api.sendFiles.mockImplementation(async (id, batch, how) => {
    calls += 1
    if (calls !== 2) return send?.(id, batch, how)
    // A part has arrived.
    await send?.(id, batch.slice(0, 100), how)
    throw lost()
  })
  api.listUploads.mockRejectedValueOnce(lost())
  const done = run(folderOf(...files))
  await vi.runAllTimersAsync()
  expect((await done).name).toBe('Tea')
  expect(told.some(({ waiting }) => waiting)).toBe(true)
  expect(api.beginUpload).toHaveBeenCalledTimes(1)
  const sent = api.sendFiles.mock.calls.map(([, batch]) => batch.length)
  expect(sent).toEqual([BATCH_FILES, BATCH_FILES, BATCH_FILES, BATCH_FILES - 100])
  expect(told.at(-1)).toEqual({ sent: files.length, done: files.length, sentAll: true, waiting: false })
})

it('after a reload the same folder goes on where it was', async () => {
  const files = [given('tea/a', 1), given('tea/b', 1)]
  api.sendFiles.mockRejectedValueOnce(new ApiError(507, { code: 507, reason: 'disk_full' }))
  await expect(run(folderOf(...files))).rejects.toMatchObject({ code: 'disk_full' })
  there = new Map(arrivedOf([given('tea/a', 1), given('tea/gone', 1)]).map(file => [file.path, file]))
  await run(folderOf(...files))
  expect(api.beginUpload).toHaveBeenCalledTimes(1)
  expect(api.sendFiles.mock.calls.at(-1)?.[1].map(({ path }) => path)).toEqual(['tea/b'])
  expect(api.removeArrived).toHaveBeenCalledWith('u', 'tea/gone')
  // The next one is new.
  await run(folderOf(...files))
  expect(api.beginUpload).toHaveBeenCalledTimes(2)
})

it('an upload that has expired begins anew, and a file that never arrives ends it', async () => {
  api.sendFiles.mockRejectedValue(lost())
  const failed = run(folderOf(given('tea/a', 1))).catch((error: unknown) => error)
  await vi.runAllTimersAsync()
  expect(await failed).toMatchObject({ code: 'no_answer' })
  there = null
  api.sendFiles.mockImplementation(async (_, files) => {
    for (const file of arrivedOf(files)) there?.set(file.path, file)
  })
  expect((await run(folderOf(given('tea/a', 1)))).id).toBe('p')
  expect(api.beginUpload).toHaveBeenCalledTimes(2)
})

it('an upload that is refused for good is discarded', async () => {
  api.sendFiles.mockRejectedValueOnce(new ApiError(400, { code: 400, reason: 'bad_path' }))
  await expect(run(folderOf(given('tea/a', 1)))).rejects.toMatchObject({ code: 'bad_path' })
  expect(api.cancelUpload).toHaveBeenCalledWith('u')
})

it('a canceled upload is discarded', async () => {
  const controller = new AbortController()
  api.sendFiles.mockRejectedValue(lost())
  const failed = run(folderOf(given('tea/a', 1)), controller.signal).catch((error: unknown) => error)
  await vi.advanceTimersByTimeAsync(100)
  controller.abort(DISCARD)
  expect(await failed).toMatchObject({ code: 'cancelled' })
  expect(api.cancelUpload).toHaveBeenCalledWith('u')
})

it('two folders of one name that are uploaded at the same time keep apart', async () => {
  let made = 0
  api.beginUpload.mockImplementation(async () => {
    made += 1
    return { id: `u${made}` } as Awaited<ReturnType<typeof uploads.beginUpload>>
  })
  const arrived = new Map<string, string[]>()
  api.listArrived.mockResolvedValue([])
  api.sendFiles.mockImplementation(async (id, files) => {
    arrived.set(id, [...(arrived.get(id) ?? []), ...files.map(({ path }) => path)])
  })
  api.commitUpload.mockImplementation(async (_, { name }) => ({ id: 'p', name }) as Project)
  await Promise.all([run(folderOf(given('tea/a', 1))), run(folderOf(given('tea/b', 2)))])
  expect([...arrived.values()]).toEqual([['tea/a'], ['tea/b']])
  expect(api.removeArrived).not.toHaveBeenCalled()
})

it('an upload that was aborted while it waited releases its folder', async () => {
  const controller = new AbortController()
  api.sendFiles.mockRejectedValueOnce(lost())
  const failed = run(folderOf(given('tea/a', 1)), controller.signal).catch((error: unknown) => error)
  await vi.advanceTimersByTimeAsync(100)
  controller.abort()
  expect(await failed).toMatchObject({ code: 'cancelled' })
  await run(folderOf(given('tea/a', 1)))
  expect(api.beginUpload).toHaveBeenCalledTimes(1)
})
