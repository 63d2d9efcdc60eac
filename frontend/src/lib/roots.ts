/** The folders of the home that people see, and what each of them allows. Nothing else asks how a path begins. */
import type { Root } from '@/api/endpoints'

/** A file, by the folder it belongs to and its path below that folder. */
export interface FileRef {
  root: Root
  path: string
}

interface RootTraits {
  /** Its files are saved by themselves, unless a person chose otherwise. */
  autosave: boolean
  /** Files from outside: each becomes a file of its name, or a skill. */
  upload: 'file' | 'skill'
  /** Versions of its files count only when a person has trusted them. */
  trust: boolean
  /** What is in it is found by a search. */
  searched: boolean
  /** A call that writes into it is approved each time; no rule can allow all of them. */
  approval: 'each' | 'rule'
}

/** In the order of the tabs. What shapes the agent itself is saved when a person says so. */
export const ROOT_TRAITS: Readonly<Record<Root, RootTraits>> = {
  memory: { autosave: true, upload: 'file', trust: false, searched: true, approval: 'each' },
  skills: { autosave: false, upload: 'skill', trust: true, searched: false, approval: 'each' },
  workspace: { autosave: false, upload: 'file', trust: false, searched: false, approval: 'each' },
  knowledge: { autosave: true, upload: 'file', trust: false, searched: true, approval: 'rule' },
}

export const ROOTS = Object.keys(ROOT_TRAITS) as readonly Root[]

/** Null for a path that is in none of the roots. */
export function parseFileRef(path: string): FileRef | null {
  const slash = path.indexOf('/')
  const root = ROOTS.find(name => name === path.slice(0, slash))
  return root ? { root, path: path.slice(slash + 1) } : null
}

/** The root whose tab shows the file. */
export const rootOf = (path: string): Root => parseFileRef(path)?.root ?? 'workspace'

/** The traits of the root that a path is in; null where it is in none. */
export function traitsOf(path: string): RootTraits | null {
  const ref = parseFileRef(path)
  return ref && ROOT_TRAITS[ref.root]
}
