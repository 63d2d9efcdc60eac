/** What is searched for in the Project tab. A tag of a note searches too. */
import { create } from 'zustand'
import { type ProjectRoot, tabOf } from '@/lib/roots'
import { useUi } from '@/stores/ui'

export interface ProjectSearch {
  text: string
  /** The text of the files is searched, not their names. */
  inText: boolean
  /** By meaning, not for exactly this text. */
  byMeaning: boolean
}

const NONE: ProjectSearch = { text: '', inText: false, byMeaning: false }

const useSearchOfProject = create<{ root: ProjectRoot | null; search: ProjectSearch }>(() => ({
  root: null,
  search: NONE,
}))

/** The search in a project; another project begins with none. */
export const useProjectSearch = (root: ProjectRoot): ProjectSearch =>
  useSearchOfProject(s => (s.root === root ? s.search : NONE))

export const setProjectSearch = (root: ProjectRoot, patch: Partial<ProjectSearch>): void =>
  useSearchOfProject.setState(s => ({ root, search: { ...(s.root === root ? s.search : NONE), ...patch } }))

/** Searches the notes with a tag. */
export function searchTag(root: ProjectRoot, tag: string): void {
  setProjectSearch(root, { text: `#${tag}`, inText: true, byMeaning: true })
  useUi.setState({ tab: tabOf(root) })
}
