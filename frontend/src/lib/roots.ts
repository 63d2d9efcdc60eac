/**
 * The folders of the home that people see, the projects, and what each of them allows. This file is the only place that
 * names them: no other code quotes the name of one or examines how a path begins.
 */

export interface RootTraits {
  /** The inspector has a tab for it. */
  tab: boolean
  /** What a person creates in it: a file, or a skill, which is a folder with a SKILL.md. */
  creates: 'file' | 'skill'
  /** A person may put files from their computer into it. */
  upload: boolean
  /** Its files are saved automatically, unless a person chose otherwise. */
  autosave: boolean
  /** Versions of its files count only after a person has trusted them. */
  trust: boolean
  /** The tool that searches its content; null if the server does not index it. */
  searchTool: string | null
  /** `each`: every call that writes into it needs its own approval. `rule`: a standing rule can allow such calls. */
  approval: 'each' | 'rule'
}

/** In the order of the tabs. Files that shape the agent itself are saved only by a person's command. */
const TABLE = {
  memory: {
    ...{ tab: true, creates: 'file', upload: true, autosave: true, trust: false },
    ...{ searchTool: 'search_memory', approval: 'each' },
  },
  skills: {
    ...{ tab: true, creates: 'skill', upload: true, autosave: false, trust: true },
    ...{ searchTool: null, approval: 'each' },
  },
  workspace: {
    ...{ tab: true, creates: 'file', upload: true, autosave: false, trust: false },
    ...{ searchTool: null, approval: 'each' },
  },
  knowledge: {
    ...{ tab: true, creates: 'file', upload: true, autosave: true, trust: false },
    ...{ searchTool: 'search_knowledge_base', approval: 'rule' },
  },
} as const satisfies Readonly<Record<string, RootTraits>>

/** One of the four folders that every home has. */
export type HomeRoot = keyof typeof TABLE
/** The folder of a project, as the server writes it in paths. */
export type ProjectRoot = `project/${string}`
export type Root = HomeRoot | ProjectRoot
/** The roots of every home with this value of a trait. */
type RootsWith<T extends keyof RootTraits, Value> = {
  [R in HomeRoot]: (typeof TABLE)[R][T] extends Value ? R : never
}[HomeRoot]
/** The roots that the server indexes. */
export type SearchFolder = RootsWith<'searchTool', string>
export type UploadFolder = RootsWith<'upload', true> | ProjectRoot

export const ROOT_TRAITS: Readonly<
  Record<HomeRoot, RootTraits> & Record<SearchFolder, { searchTool: string }>
> = TABLE

/** What every project allows. */
const PROJECT_TRAITS: RootTraits = {
  ...{ tab: true, creates: 'file', upload: true, autosave: false, trust: false },
  ...{ searchTool: null, approval: 'rule' },
}

/** The roots of every home. */
export const ROOTS = Object.keys(ROOT_TRAITS) as readonly HomeRoot[]

const PROJECT = 'project/'
const PROJECT_PATH = /^project\/[\w-]+/

export const projectRoot = (id: string): ProjectRoot => `${PROJECT}${id}`
export const isProject = (root: Root): root is ProjectRoot => root.startsWith(PROJECT)
/** The id of the project whose folder this is, or null. */
export const projectOf = (root: Root): string | null => (isProject(root) ? root.slice(PROJECT.length) : null)

export const traitsOf = (root: Root): RootTraits => (isProject(root) ? PROJECT_TRAITS : ROOT_TRAITS[root])

/** The tab of the inspector for projects. */
export const PROJECT_TAB = 'project'
/** The tab of the inspector that shows a root. */
export const tabOf = (root: Root): string => (isProject(root) ? PROJECT_TAB : root)

/** What the server searches if a request names no folder, and where a text goes that is too large to attach. */
export const DEFAULT_SEARCH_FOLDER = 'knowledge' satisfies SearchFolder & UploadFolder
/** The default first. */
export const SEARCH_FOLDERS: readonly SearchFolder[] = [
  DEFAULT_SEARCH_FOLDER,
  ...ROOTS.filter(isSearchFolder).filter(root => root !== DEFAULT_SEARCH_FOLDER),
]
export function isSearchFolder(name: string | null): name is SearchFolder {
  return ROOTS.some(root => root === name && ROOT_TRAITS[root].searchTool !== null)
}
export const isUploadFolder = (root: Root): root is UploadFolder => traitsOf(root).upload
export const createsSkills = (root: Root): boolean => traitsOf(root).creates === 'skill'

/** A file: its root, and its path below that root. The same file is always the same object. */
export class FileRef {
  static readonly #known = new Map<string, FileRef>()
  readonly root: Root
  readonly path: string

  private constructor(root: Root, path: string) {
    this.root = root
    this.path = path
  }

  static of(root: Root, path: string): FileRef {
    const name = `${root}/${path}`
    const known = FileRef.#known.get(name)
    if (known) return known
    const file = new FileRef(root, path)
    FileRef.#known.set(name, file)
    return file
  }

  /** Parses a path from the server, a text or an address; null if it is in none of the roots. */
  static parse(name: string): FileRef | null {
    const length = PROJECT_PATH.exec(name)?.[0].length ?? name.indexOf('/')
    const first = name.slice(0, length)
    const root =
      ROOTS.find(root => root === first) ?? (PROJECT_PATH.test(first) ? (first as ProjectRoot) : null)
    return root && name[length] === '/' && length < name.length - 1
      ? FileRef.of(root, name.slice(length + 1))
      : null
  }

  get traits(): RootTraits {
    return traitsOf(this.root)
  }

  /** The path as people know it. */
  get shown(): string {
    return shownPath(`${this}`)
  }

  /** The path as the server writes it. */
  toString(): string {
    return `${this.root}/${this.path}`
  }
}

/** What people call the folders of projects, by id. The folder of commands has a name of its own. */
const projectNames = new Map([['scratch', 'scratch']])

/** Registers the names of projects, which paths are shown with. */
export function nameProjects(projects: readonly { id: string; name: string }[]): void {
  for (const { id, name } of projects) if (id !== 'scratch') projectNames.set(id, name)
}

/** The folder of a project at the beginning of a path. */
const IN_TEXT = /(?<![\w./-])project\/([\w-]+)(?=\/)/g
const named = (whole: string, id: string): string => projectNames.get(id) ?? whole

/** What people call a project. */
export const projectTitle = (root: ProjectRoot): string => {
  const id = root.slice(PROJECT.length)
  return projectNames.get(id) ?? id
}

/** A path from the server as people know it. Requests to the server need the path itself. */
export const shownPath = (path: string): string => path.replace(/^project\/([\w-]+)(?=\/)/, named)

/** The same for all paths that a text of the server names. */
export const withShownPaths = (text: string): string => text.replace(IN_TEXT, named)

/** The file that describes the agent's character. */
export const SOUL = FileRef.of('workspace', 'SOUL.md')

/** The folders that contain a path, topmost first and without the root itself. */
export function foldersOf(path: string): string[] {
  const parts = path.split('/')
  const depth = PROJECT_PATH.test(path) ? 3 : 2
  return parts.slice(depth).map((_, i) => parts.slice(0, i + depth).join('/'))
}

/** Whether a path is inside a folder, at any depth. */
export const isBelow = (folder: string, path: string): boolean => path.startsWith(`${folder}/`)

/** Whether a path in a project is that of a file of one of its skills. */
export const isOfSkill = (path: string): boolean => /^skills\/[^/]+\/./.test(path)
