/** Projects and their files: the endpoints that have no counterpart for the home. Responses have an envelope. */
import { type FileRef, projectOf, type Root } from '@/lib/roots'
import { api, asPage, dataOf } from './client'
import { whole } from './conversations'
import type {
  FolderContent,
  FolderToLink,
  FoundInProject,
  FoundPassages,
  FoundProjectFiles,
  LinkRequest,
  NewProject,
  NoteMentions,
  Project,
  ProjectChange,
  ProjectNotes,
} from './types'

const of = (id: string) => ({ path: { id } })

export const listDeletedProjects = (): Promise<Project[]> =>
  whole(query =>
    dataOf(api.GET('/api/projects', { params: { query: { ...query, deleted: true } } })).then(r => r.data),
  )
export const createProject = (body: NewProject): Promise<Project> =>
  dataOf(api.POST('/api/projects', { body })).then(r => r.data)
export const changeProject = (id: string, body: ProjectChange): Promise<Project> =>
  dataOf(api.PUT('/api/projects/{id}', { params: of(id), body })).then(r => r.data)
export const deleteProject = (id: string): Promise<unknown> =>
  dataOf(api.DELETE('/api/projects/{id}', { params: of(id) }))
export const restoreProject = (id: string): Promise<Project> =>
  dataOf(api.POST('/api/projects/{id}/restore', { params: of(id) })).then(r => r.data)

/** Number of entries of a first page, and the server's maximum. */
const FIRST_PAGE = 2_000
const MOST_ENTRIES = 10_000

/** Lists the first direct entries of a folder of a project, at least `wanted`, in the form of those of the home. */
export async function listProjectFolder(root: Root, path: string, wanted: number): Promise<FolderContent> {
  let content = await folderPage(root, path, { limit: Math.min(Math.max(wanted, FIRST_PAGE), MOST_ENTRIES) })
  while (content.pages?.next && content.folders.length + content.files.length < wanted)
    content = await withNextPage(root, content)
  return content
}

/** Reads the next page of a folder. Returns the folder with it. */
export async function withNextPage(root: Root, known: FolderContent): Promise<FolderContent> {
  if (!known.pages?.next) return known
  const page = await folderPage(root, known.path, { limit: MOST_ENTRIES, cursor: known.pages.next })
  return {
    ...page,
    folders: [...known.folders, ...page.folders],
    files: [...known.files, ...page.files],
    pages: page.pages ?? { next: null },
  }
}

async function folderPage(
  root: Root,
  path: string,
  page: { limit: number; cursor?: string },
): Promise<FolderContent> {
  const below = path.slice(root.length + 1)
  const params = { ...of(projectOf(root) ?? ''), query: { path: below, ...page } }
  const { data } = await dataOf(api.GET('/api/projects/{id}/files', { params }))
  const content: FolderContent = { path, folders: [], files: [], left_out: data.left_out }
  if (data.has_more) content.pages = { next: data.next_cursor ?? null }
  for (const { path, type, size, modified_at, ignored } of data.items) {
    if (type === 'folder') content.folders.push({ path: `${root}/${path}`, ignored })
    else
      content.files.push({
        ...{ path: `${root}/${path}`, size, modified: Date.parse(modified_at) / 1000, ignored },
      })
  }
  return content
}

export const makeFolder = (folder: FileRef): Promise<unknown> =>
  dataOf(
    api.POST('/api/projects/{id}/directories', {
      params: of(projectOf(folder.root) ?? ''),
      body: { path: folder.path },
    }),
  )

/** The API's description marks the rest of a path with an asterisk, which is part of the parameter's name here. */
const entry = ({ root, path }: FileRef) => {
  const named = { id: projectOf(root) ?? '', filepath: path, '*filepath': path }
  return { params: { path: named } }
}

/** Renames or moves a folder. */
export const renameFolder = (from: FileRef, to: FileRef): Promise<unknown> =>
  dataOf(api.PATCH('/api/projects/{id}/files/{*filepath}', { ...entry(from), body: { new_path: to.path } }))

/** Returns the trash id that restores the folder. */
export const deleteFolder = (folder: FileRef): Promise<string> =>
  dataOf(api.DELETE('/api/projects/{id}/files/{*filepath}', entry(folder))).then(r => r.data.trash)

/** Files found by words of their names and paths, the best first. */
export const findFiles = (id: string, q: string, limit: number): Promise<FoundProjectFiles> =>
  dataOf(api.GET('/api/projects/{id}/find', { params: { ...of(id), query: { q, limit } } })).then(r => r.data)

/** Maximum number of lines of a search. */
const MOST_LINES = 500

export const searchProject = (id: string, query: string): Promise<FoundInProject> =>
  dataOf(
    api.POST('/api/projects/{id}/search', { params: of(id), body: { query, max_results: MOST_LINES } }),
  ).then(r => r.data)

/** Maximum number of passages of a search by meaning. */
const MOST_PASSAGES = 20

export const searchPassages = (id: string, text: string): Promise<FoundPassages> =>
  dataOf(
    api.GET('/api/projects/{id}/passages', {
      params: { ...of(id), query: { query: text, limit: MOST_PASSAGES } },
    }),
  ).then(r => r.data as FoundPassages)

export const listNotes = (id: string): Promise<ProjectNotes> =>
  dataOf(api.GET('/api/projects/{id}/notes', { params: of(id) })).then(r => r.data)

export const noteMentions = (id: string, path: string): Promise<NoteMentions> =>
  dataOf(api.GET('/api/projects/{id}/mentions', { params: { ...of(id), query: { path } } })).then(r => r.data)

/** The address of the bytes of a file, which the browser shows as a picture or saves. */
export const bytesAddress = ({ root, path }: FileRef): string => {
  const names = path.split('/').map(encodeURIComponent).join('/')
  return new URL(
    `api/projects/${encodeURIComponent(projectOf(root) ?? '')}/files/${names}?download=true`,
    document.baseURI,
  ).href
}

/** A file of an upload, and its path in the folder, beginning with the name of the folder. */
export interface UploadedFile {
  path: string
  file: File
}

/** Shows a folder of the machine that may become a project; with `confirm`, links it. */
export const linkProject = (body: LinkRequest): Promise<{ folder: FolderToLink; project?: Project | null }> =>
  asPage(header => api.POST('/api/projects/link', { params: { header }, body })).then(r => r.data)
