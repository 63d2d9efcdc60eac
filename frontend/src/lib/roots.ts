/**
 * The folders of the home that people see, and what each of them allows. No other code examines how a path begins.
 */
import type { Root } from '@/api/endpoints'

export interface RootTraits {
  /** What a person creates in it: files, or skills, each a folder with a SKILL.md. */
  holds: 'files' | 'skills'
  /** Its files are saved automatically, unless a person chose otherwise. */
  autosave: boolean
  /** Versions of its files count only after a person has trusted them. */
  trust: boolean
  /** Searches find its content. */
  searched: boolean
  /** `each`: every call that writes into it needs its own approval. `rule`: a standing rule can allow such calls. */
  approval: 'each' | 'rule'
}

/** In the order of the tabs. Files that shape the agent itself are saved only by a person's command. */
export const ROOT_TRAITS: Readonly<Record<Root, RootTraits>> = {
  memory: { holds: 'files', autosave: true, trust: false, searched: true, approval: 'each' },
  skills: { holds: 'skills', autosave: false, trust: true, searched: false, approval: 'each' },
  workspace: { holds: 'files', autosave: false, trust: false, searched: false, approval: 'each' },
  knowledge: { holds: 'files', autosave: true, trust: false, searched: true, approval: 'rule' },
}

export const ROOTS = Object.keys(ROOT_TRAITS) as readonly Root[]

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

/** The folders that contain a path, topmost first and without the root itself. */
export function foldersOf(path: string): string[] {
  const parts = path.split('/')
  return parts.slice(2).map((_, i) => parts.slice(0, i + 2).join('/'))
}

/** Whether a path is inside a folder, at any depth. */
export const isBelow = (folder: string, path: string): boolean => path.startsWith(`${folder}/`)
