/**
 * The folders of the home that people see, and what each of them allows. This table is the only place that names them:
 * no other code quotes the name of one or examines how a path begins.
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

export type Root = keyof typeof TABLE
/** The roots with this value of a trait. */
type RootsWith<T extends keyof RootTraits, Value> = {
  [R in Root]: (typeof TABLE)[R][T] extends Value ? R : never
}[Root]
/** The roots that the server indexes. */
export type SearchFolder = RootsWith<'searchTool', string>
export type UploadFolder = RootsWith<'upload', true>

export const ROOT_TRAITS: Readonly<Record<Root, RootTraits> & Record<SearchFolder, { searchTool: string }>> =
  TABLE

export const ROOTS = Object.keys(ROOT_TRAITS) as readonly Root[]

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
export const isUploadFolder = (root: Root): root is UploadFolder => ROOT_TRAITS[root].upload
export const createsSkills = (root: Root): boolean => ROOT_TRAITS[root].creates === 'skill'

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
    const slash = name.indexOf('/')
    const root = ROOTS.find(root => root === name.slice(0, slash))
    return root && slash < name.length - 1 ? FileRef.of(root, name.slice(slash + 1)) : null
  }

  get traits(): RootTraits {
    return ROOT_TRAITS[this.root]
  }

  /** The path as the server writes it. */
  toString(): string {
    return `${this.root}/${this.path}`
  }
}

/** The folder of commands, as the server writes it in paths, and as people know it. */
const SCRATCH = { server: 'project/scratch/', inText: /(?<![\w./-])project\/scratch\//g, people: 'scratch/' }

/** A path from the server as people know it. Requests to the server need the path itself. */
export const shownPath = (path: string): string =>
  path.startsWith(SCRATCH.server) ? SCRATCH.people + path.slice(SCRATCH.server.length) : path

/** The same for all paths that a text of the server names. */
export const withShownPaths = (text: string): string => text.replace(SCRATCH.inText, SCRATCH.people)

/** The file that describes the agent's character. */
export const SOUL = FileRef.of('workspace', 'SOUL.md')

/** The folders that contain a path, topmost first and without the root itself. */
export function foldersOf(path: string): string[] {
  const parts = path.split('/')
  return parts.slice(2).map((_, i) => parts.slice(0, i + 2).join('/'))
}

/** Whether a path is inside a folder, at any depth. */
export const isBelow = (folder: string, path: string): boolean => path.startsWith(`${folder}/`)
