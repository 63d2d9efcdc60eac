import { useDeferredValue, useMemo } from 'react'
import { knownFolder, useFiles, useFolders, useFoundFiles, useSkills } from '@/api/queries'
import type { FileEntry } from '@/api/types'
import { reasonOf } from '@/lib/reason'
import { createsSkills, type Root } from '@/lib/roots'
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
  const open = useOpenFolders(root, wanted === '')
  if (createsSkills(root)) return skills
  return wanted === '' ? open : found
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
  const enabled = wanted !== '' && !createsSkills(root)
  const { data, error } = useFoundFiles({ words: wanted, root }, enabled)
  const folderOf = useMemo(() => inList(data?.files, root, data?.more ? 1 : 0), [data, root])
  return { folderOf, allOpen: true, error }
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
