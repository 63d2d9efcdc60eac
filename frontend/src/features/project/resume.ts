/**
 * Uploads a folder in batches. What has arrived whole stays on the server: after a lost connection the upload goes on by
 * itself, and after a reload when the person chooses the same folder again.
 */
import { ApiError } from '@/api/client'
import type { UploadedFile } from '@/api/projects'
import type { ArrivedFile, Project } from '@/api/types'
import * as uploads from '@/api/uploads'
import type { ChosenFolder, Progress } from './folder'
import { type Claim, claimKnown, claimNew, forget } from './resumable'

/** A batch has at most this many bytes, unless it is one file, and files. */
export const BATCH_BYTES = 8 * 1024 ** 2
export const BATCH_FILES = 500
/** Milliseconds until the next attempt; the last one repeats. */
const WAITS = [1_000, 2_000, 4_000, 8_000, 15_000, 30_000]
/** Attempts in a row that fail although the server answers otherwise: a file may have become unreadable. */
const MOST_FAILURES = 5
/** Refusals that sending again does not mend. */
const HOPELESS: readonly string[] = ['bad_path', 'exists', 'not_allowed', 'too_large']

export interface FolderUpload {
  name: string
  description: string
  folder: ChosenFolder
  onProgress: (progress: Progress) => void
  signal: AbortSignal
}

/** Why an upload is aborted that is not to go on: what has arrived is discarded. */
export const DISCARD = 'discard'

/** Forgets an upload, and discards what has arrived. */
function discard(id: string): void {
  forget(id)
  // What remains expires.
  void uploads.cancelUpload(id).catch(() => undefined)
}

/** What is still to be sent, and what is on the server but not in the folder. */
export function compare(
  files: readonly UploadedFile[],
  arrived: readonly ArrivedFile[],
): { rest: UploadedFile[]; extra: string[] } {
  const there = new Map(arrived.map(file => [file.path, file]))
  const rest: UploadedFile[] = []
  for (const given of files) {
    const known = there.get(given.path)
    there.delete(given.path)
    if (known?.size !== given.file.size || known.modified !== given.file.lastModified) rest.push(given)
  }
  return { rest, extra: [...there.keys()] }
}

/** The files of the next request. */
export function nextBatch(rest: readonly UploadedFile[]): UploadedFile[] {
  let [n, bytes] = [0, 0]
  for (const { file } of rest) {
    bytes += file.size
    if (n > 0 && (bytes > BATCH_BYTES || n >= BATCH_FILES)) break
    n += 1
  }
  return rest.slice(0, n)
}

const sizeOf = (files: readonly UploadedFile[]) => files.reduce((sum, { file }) => sum + file.size, 0)

/** Number of files whose bytes are among those that are sent. */
function sentOf(files: readonly UploadedFile[], bytes: number): number {
  let [n, end] = [0, 0]
  for (const { file } of files) {
    end += file.size
    if (end > bytes || bytes === 0) break
    n += 1
  }
  return n
}

/** The connection broke, or the server is not able to answer at the moment. */
const passes = (error: unknown): boolean =>
  error instanceof ApiError && (error.code === 'no_answer' || [502, 503, 504].includes(error.status))

/** Waits, but not longer than until the browser is online again. */
function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (settle: () => void) => () => {
      clearTimeout(timer)
      window.removeEventListener('online', online)
      signal.removeEventListener('abort', abort)
      settle()
    }
    const online = end(resolve)
    const abort = end(() => reject(new ApiError(0, { code: 'cancelled' })))
    const timer = setTimeout(online, milliseconds)
    window.addEventListener('online', online)
    signal.addEventListener('abort', abort)
    if (signal.aborted) abort()
  })
}

/** The upload that is claimed, another one of this folder that may go on, or a new one. */
async function openUpload(
  { name, description, folder }: FolderUpload,
  own: Claim | null,
): Promise<[Claim, ArrivedFile[]]> {
  for (let claim = own ?? (await claimKnown(folder.name)); claim; claim = await claimKnown(folder.name)) {
    try {
      return [claim, await uploads.listArrived(claim.id)]
    } catch (error) {
      const isGone = error instanceof ApiError && error.code === 'no_upload'
      if (isGone) forget(claim.id)
      if (isGone || claim !== own) claim.release()
      if (!isGone) throw error
    }
  }
  const { id } = await uploads.beginUpload({ name, description })
  return [await claimNew(folder.name, id), []]
}

/** Uploads a folder to its end, whatever happens to the connection, and creates the project. */
export async function uploadFolder(upload: FolderUpload): Promise<Project> {
  const hold: Hold = { claim: null }
  try {
    return await sendAll(upload, hold)
  } catch (error) {
    const isHopeless = error instanceof ApiError && HOPELESS.includes(error.code)
    if (hold.claim && (isHopeless || upload.signal.reason === DISCARD)) discard(hold.claim.id)
    throw error
  } finally {
    hold.claim?.release()
  }
}

/** The upload that is under way; null before it has begun. */
interface Hold {
  claim: Claim | null
}

async function sendAll(upload: FolderUpload, hold: Hold): Promise<Project> {
  const { folder, signal, onProgress } = upload
  const total = folder.files.length
  let [attempt, failures] = [0, 0]
  const tell = (rest: readonly UploadedFile[], more: number, waiting: boolean) =>
    onProgress({
      sent: Math.min(folder.bytes, folder.bytes - sizeOf(rest) + more),
      done: total - rest.length + sentOf(rest, more),
      ...{ sentAll: false, waiting },
    })
  let rest: readonly UploadedFile[] = folder.files
  tell(rest, 0, false)
  for (;;) {
    try {
      const opened = await openUpload(upload, hold.claim)
      hold.claim = opened[0]
      const [{ id }, arrived] = opened
      const compared = compare(folder.files, arrived)
      rest = compared.rest
      for (const path of compared.extra) await uploads.removeArrived(id, path)
      while (rest.length > 0) {
        if (signal.aborted) throw new ApiError(0, { code: 'cancelled' })
        const batch = nextBatch(rest)
        const bytes = sizeOf(batch)
        const before = rest
        tell(before, 0, false)
        await uploads.sendFiles(id, batch, {
          signal,
          // The form has more bytes than its files.
          onProgress: (sent, all) => tell(before, all > 0 ? Math.floor((bytes * sent) / all) : 0, false),
        })
        rest = rest.slice(batch.length)
        attempt = 0
        failures = 0
      }
      onProgress({ sent: folder.bytes, done: total, sentAll: true, waiting: false })
      const { name, description } = upload
      const made = await uploads.commitUpload(id, { name, description, files: total, bytes: folder.bytes })
      forget(id)
      return made
    } catch (error) {
      if (signal.aborted || !passes(error)) throw error
      // A server that cannot be reached says nothing about the files.
      failures = (await reachable()) ? failures + 1 : 0
      if (failures >= MOST_FAILURES) throw error
      tell(rest, 0, true)
      await wait(WAITS[Math.min(attempt, WAITS.length - 1)] ?? 0, signal)
      attempt += 1
    }
  }
}

const reachable = (): Promise<boolean> =>
  uploads.listUploads().then(
    () => true,
    () => false,
  )
