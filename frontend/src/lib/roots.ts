/** The folders of the home that people see, and what each of them allows. Nothing else asks how a path begins. */
import type { Root } from '@/api/endpoints'

export interface RootTraits {
  /** What a person makes in it: files, or skills, each a folder with a SKILL.md. */
  holds: 'files' | 'skills'
  /** Its files are saved by themselves, unless a person chose otherwise. */
  autosave: boolean
  /** Versions of its files count only when a person has trusted them. */
  trust: boolean
  /** What is in it is found by a search. */
  searched: boolean
  /** A call that writes into it is approved each time; no rule can allow all of them. */
  approval: 'each' | 'rule'
}

/** In the order of the tabs. What shapes the agent itself is saved when a person says so. */
export const ROOT_TRAITS: Readonly<Record<Root, RootTraits>> = {
  memory: { holds: 'files', autosave: true, trust: false, searched: true, approval: 'each' },
  skills: { holds: 'skills', autosave: false, trust: true, searched: false, approval: 'each' },
  workspace: { holds: 'files', autosave: false, trust: false, searched: false, approval: 'each' },
  knowledge: { holds: 'files', autosave: true, trust: false, searched: true, approval: 'rule' },
}

export const ROOTS = Object.keys(ROOT_TRAITS) as readonly Root[]

/** A file, by the root it belongs to and its path below that root. The same file is always the same object. */
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

  /** The file that the server, a text or an address names; null for one in none of the roots. */
  static parse(name: string): FileRef | null {
    const slash = name.indexOf('/')
    const root = ROOTS.find(root => root === name.slice(0, slash))
    return root && slash < name.length - 1 ? FileRef.of(root, name.slice(slash + 1)) : null
  }

  get traits(): RootTraits {
    return ROOT_TRAITS[this.root]
  }

  /** As the server names it. */
  toString(): string {
    return `${this.root}/${this.path}`
  }
}

/** Whether a path is that of something in a folder, at any depth. */
export const isBelow = (folder: string, path: string): boolean => path.startsWith(`${folder}/`)
