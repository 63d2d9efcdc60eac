/** Uploads of folders that go on after an interruption, and of files into a project. Responses have an envelope. */
import { ApiError, api, dataOf } from './client'
import type { UploadedFile } from './projects'
import { watchSession } from './signedOut'
import type { ArrivedFile, OpenUpload, Project } from './types'

const of = (id: string) => ({ path: { id } })

export const beginUpload = (body: { name: string; description: string }): Promise<OpenUpload> =>
  dataOf(api.POST('/api/projects/uploads', { body })).then(r => r.data)

/** The uploads that are not finished. */
export const listUploads = (): Promise<OpenUpload[]> =>
  dataOf(api.GET('/api/projects/uploads')).then(r => r.data.items)

/** Number of files in an answer. */
const PAGE = 10_000

/** All files of an upload that have arrived. */
export async function listArrived(id: string): Promise<ArrivedFile[]> {
  const all: ArrivedFile[] = []
  let cursor = ''
  for (;;) {
    const params = { ...of(id), query: { limit: PAGE, cursor } }
    const { data } = await dataOf(api.GET('/api/projects/uploads/{id}', { params }))
    all.push(...data.arrived.items)
    if (!data.arrived.next_cursor) return all
    cursor = data.arrived.next_cursor
  }
}

export const removeArrived = (id: string, path: string): Promise<unknown> =>
  dataOf(api.DELETE('/api/projects/uploads/{id}/files', { params: { ...of(id), query: { path } } }))

export const commitUpload = (
  id: string,
  body: { name: string; description: string; files: number; bytes: number },
): Promise<Project> =>
  dataOf(api.POST('/api/projects/uploads/{id}/commit', { params: of(id), body })).then(r => r.data)

export const cancelUpload = (id: string): Promise<unknown> =>
  dataOf(api.DELETE('/api/projects/uploads/{id}', { params: of(id) }))

export interface Sending {
  /** Called with the bytes of the request that are sent, and their total number. */
  onProgress?: (sent: number, total: number) => void
  signal?: AbortSignal
  /** Whether no existing file is replaced. */
  onlyNew?: boolean
}

/** Sends whole files to an upload. */
export function sendFiles(id: string, files: readonly UploadedFile[], how: Sending): Promise<unknown> {
  const form = new FormData()
  for (const { path, file } of files) {
    form.append('modified', String(file.lastModified))
    form.append('files', file, path)
  }
  return sendForm(`api/projects/uploads/${encodeURIComponent(id)}/files`, form, how)
}

/** A file that was uploaded into a project; `trash` restores what it replaced. */
export interface AddedFile {
  path: string
  trash?: string
}

/** Uploads a file into a folder of a project. */
export async function addToProject(
  { id, folder }: { id: string; folder: string },
  { path, file }: UploadedFile,
  how: Sending,
): Promise<AddedFile | undefined> {
  const form = new FormData()
  form.append('files', file, path)
  const query = new URLSearchParams({ path: folder })
  const answer = await sendForm(`api/projects/${encodeURIComponent(id)}/files?${query}`, form, how)
  return (answer as AddedFile[])[0]
}

/** Sends a form. `fetch` does not tell how much of a request is sent. */
function sendForm(path: string, form: FormData, { onProgress, signal, onlyNew }: Sending): Promise<unknown> {
  const refused = watchSession()
  const request = new XMLHttpRequest()
  return new Promise((resolve, reject) => {
    const fail = (status: number, body: Record<string, unknown>) => reject(new ApiError(status, body))
    if (signal?.aborted) return fail(0, { code: 'cancelled' })
    const abort = () => request.abort()
    request.responseType = 'text'
    if (onProgress) request.upload.onprogress = ({ loaded, total }) => onProgress(loaded, total)
    request.onload = () => {
      const body = json(request.responseText)
      if (request.status === 401) refused()
      if (request.status >= 200 && request.status < 300) resolve(body.data)
      else fail(request.status, body)
    }
    request.onerror = () => fail(0, { code: 'no_answer' })
    request.onabort = () => fail(0, { code: 'cancelled' })
    request.onloadend = () => signal?.removeEventListener('abort', abort)
    signal?.addEventListener('abort', abort, { once: true })
    request.open('POST', new URL(path, document.baseURI))
    if (onlyNew) request.setRequestHeader('If-None-Match', '*')
    request.send(form)
  })
}

function json(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}
