/** The notes of a project: their names, the files that links may lead to, and tags. */
import { useQuery } from '@tanstack/react-query'
import { listNotes, noteMentions } from '@/api/projects'
import { queryClient } from '@/api/queries'
import type { ProjectNote, ProjectTag } from '@/api/types'
import { type FileRef, type ProjectRoot, projectOf } from '@/lib/roots'
import { FileNames } from './names'

export interface Notes {
  notes: readonly ProjectNote[]
  files: readonly string[]
  tags: readonly ProjectTag[]
  names: FileNames
}

/** Milliseconds for which the names are taken as they are; the server reads only what has changed. */
const FRESH_MS = 5_000

const options = (root: ProjectRoot) => ({
  queryKey: ['notes', root],
  queryFn: async (): Promise<Notes> => {
    const { notes, files, tags } = await listNotes(projectOf(root) ?? '')
    return { notes, files, tags, names: new FileNames([...notes.map(({ path }) => path), ...files]) }
  },
  staleTime: FRESH_MS,
  // The names of a vault are compared and classified once, not field by field.
  structuralSharing: false,
})

export const useNotes = (root: ProjectRoot) => useQuery(options(root))

export const notesOf = (root: ProjectRoot): Promise<Notes> => queryClient.fetchQuery(options(root))

export const useMentions = (file: FileRef, enabled: boolean) =>
  useQuery({
    queryKey: ['mentions', `${file}`],
    queryFn: () => noteMentions(projectOf(file.root) ?? '', file.path),
    enabled,
    staleTime: 0,
  })
