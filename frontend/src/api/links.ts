/** Links in notes of a project to files that were renamed. */
import { api, dataOf } from './client'
import type { FormerLinks, UpdatedNoteFiles } from './types'

const of = (id: string) => ({ path: { id } })

/** Counts the links that mean a file by the path that it had. */
export const formerLinks = (id: string, path: string, new_path: string): Promise<FormerLinks> =>
  dataOf(api.GET('/api/projects/{id}/links', { params: { ...of(id), query: { path, new_path } } })).then(
    r => r.data,
  )

/** Updates them, in all notes or in none. */
export const updateLinks = (id: string, path: string, new_path: string): Promise<UpdatedNoteFiles> =>
  dataOf(api.POST('/api/projects/{id}/links', { params: of(id), body: { path, new_path } })).then(r => r.data)

/** Restores what an update has changed. */
export const undoLinks = (id: string, body: UpdatedNoteFiles): Promise<unknown> =>
  dataOf(api.POST('/api/projects/{id}/links/undo', { params: of(id), body }))
