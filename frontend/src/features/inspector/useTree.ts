import { useDeferredValue, useMemo } from 'react'
import { knownFolder, knownFolders, useFiles, useFolders, useFoundFiles, useSkills } from '@/api/queries'
import type { FileEntry } from '@/api/types'
import { matches } from '@/lib/match'
import { reasonOf } from '@/lib/reason'
import { createsSkills, isProject, type Root } from '@/lib/roots'
import { useFoldsByHand } from '@/stores/folds'
import { type FolderOf, foldersIn, openFolders } from './tree'

export const foldId = (folder: string): string => `folder:${folder}`

export interface Tree {
  folderOf: FolderOf
  /** Every folder is open, because the rows are search results. */
  allOpen: boolean
  error: unknown
}

const NONE: readonly FileEntry[] = []

/** The folders of a root that the tree shows: the open ones, or those with search results. */
export function useTree(root: Root, wanted: string): Tree {
  const skills = useSkillFolders(root, wanted)
  const found = useFoundFolders(root, useDeferredValue(wanted))
  const open = useOpenFolders(root, wanted === '' || isProject(root))
  const opened = useOpenedFolders(root, wanted, open.folderOf)
  if (createsSkills(root)) return skills
  if (wanted === '') return open
  return isProject(root) ? opened : found
}

/** Loads a folder when it is opened. */
function useOpenFolders(root: Root, enabled: boolean): Tree {
  const isLazy = enabled && !createsSkills(root)
  const byHand = useFoldsByHand()
  const paths = isLazy ? openFolders(knownFolder, root, folder => byHand[foldId(folder)] === true) : []
  const contents = useFolders(paths)
  const folderOf: FolderOf = useMemo(
    () => path => {
      const { data: content, error } = contents.get(path) ?? {}
      return { content, problem: error ? reasonOf(error) : null }
    },
    [contents],
  )
  return { folderOf, allOpen: false, error: contents.get(root)?.error }
}

function useFoundFolders(root: Root, wanted: string): Tree {
  const enabled = wanted !== '' && !createsSkills(root) && !isProject(root)
  const { data, error } = useFoundFiles({ words: wanted, root }, enabled)
  const folderOf = useMemo(() => inList(data?.files, root, data?.more ? 1 : 0), [data, root])
  return { folderOf, allOpen: true, error }
}

/** The files of a project that are found in the folders opened so far: the server finds no names in projects. */
function useOpenedFolders(root: Root, wanted: string, open: FolderOf): Tree {
  const enabled = wanted !== '' && isProject(root)
  // biome-ignore lint/correctness/useExhaustiveDependencies: when an open folder changes, what is known changes
  const folderOf = useMemo(() => {
    if (!enabled) return () => undefined
    const files = knownFolders(root).flatMap(content => content.files)
    return inList(
      files.filter(({ path }) => matches(path.slice(root.length), wanted)),
      root,
    )
  }, [enabled, root, wanted, open])
  return { folderOf, allOpen: true, error: null }
}

/** Lists all files of skills, because skills are few; omits those that the list of skills has already. */
function useSkillFolders(root: Root, wanted: string): Tree {
  const enabled = createsSkills(root)
  const { data, error } = useFiles(root, enabled)
  const skills = useSkills().data
  const folderOf = useMemo(() => {
    const listed = new Set(skills?.map(skill => skill.location))
    const isShown = ({ path }: FileEntry) => !listed.has(path) && path.toLowerCase().includes(wanted)
    return inList(data?.filter(isShown), root)
  }, [data, skills, root, wanted])
  return { folderOf, allOpen: wanted !== '', error }
}

function inList(files: readonly FileEntry[] | undefined, root: Root, leftOut = 0): FolderOf {
  const folders = foldersIn(files ?? NONE, root, leftOut)
  return path => {
    const content = files && folders.get(path)
    return content && { content, problem: null }
  }
}
