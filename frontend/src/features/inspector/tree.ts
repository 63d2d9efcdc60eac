/** The files of a list as the lines of a tree: folders first, and only what stands in open ones. */
import type { FileEntry } from '@/api/types'

export interface TreeRow {
  /** Of a folder without a stroke at its end. */
  path: string
  name: string
  /** 1 at the top. */
  level: number
  /** Its place among its siblings, from 1, and how many they are. */
  position: number
  siblings: number
  /** Null for a folder. */
  file: FileEntry | null
  open: boolean
  /** Of a folder, all that is in it. */
  tokens: number | null
}

const { compare } = new Intl.Collator(undefined, { numeric: true })

/** Files whose paths begin with `folder` and a stroke, as rows. */
export function treeRows(
  files: readonly FileEntry[],
  folder: string,
  isOpen: (folder: string) => boolean,
  level = 1,
): TreeRow[] {
  const folders = new Map<string, FileEntry[]>()
  const here: [string, FileEntry][] = []
  for (const file of files) {
    const [name = '', ...below] = file.path.slice(folder.length + 1).split('/')
    const inside = folders.get(name)
    if (below.length === 0) here.push([name, file])
    else if (inside) inside.push(file)
    else folders.set(name, [file])
  }
  const siblings = folders.size + here.length
  const inFolders = [...folders]
    .sort(([a], [b]) => compare(a, b))
    .flatMap(([name, inside], i): TreeRow[] => {
      const path = `${folder}/${name}`
      const open = isOpen(path)
      const tokens = inside.reduce((sum, file) => sum + (file.tokens ?? 0), 0)
      return [
        { path, name, level, position: i + 1, siblings, file: null, open, tokens },
        ...(open ? treeRows(inside, path, isOpen, level + 1) : []),
      ]
    })
  const inThis = here
    .sort(([a], [b]) => compare(a, b))
    .map(([name, file], i): TreeRow => {
      const position = folders.size + i + 1
      return {
        path: file.path,
        name,
        level,
        position,
        siblings,
        file,
        open: false,
        tokens: file.tokens ?? null,
      }
    })
  return [...inFolders, ...inThis]
}

/** The folders that a path stands in, below the first. */
export function foldersOf(path: string): string[] {
  const parts = path.split('/')
  return parts.slice(2).map((_, i) => parts.slice(0, i + 2).join('/'))
}

/** What a key does at a row: leads to another, or opens and closes a folder. */
export type Move = { to: number } | 'toggle' | null

/** As the ARIA authoring practices have it for trees. */
export function moveBy(key: string, rows: readonly TreeRow[], at: number): Move {
  const row = rows[at]
  if (!row) return null
  const isFolder = row.file === null
  switch (key) {
    case 'ArrowDown':
      return { to: Math.min(at + 1, rows.length - 1) }
    case 'ArrowUp':
      return { to: Math.max(at - 1, 0) }
    case 'Home':
      return { to: 0 }
    case 'End':
      return { to: rows.length - 1 }
    case 'ArrowRight':
      if (!isFolder) return null
      return row.open ? { to: at + 1 } : 'toggle'
    case 'ArrowLeft': {
      if (isFolder && row.open) return 'toggle'
      const parent = rows.slice(0, at).findLastIndex(other => other.level < row.level)
      return parent < 0 ? null : { to: parent }
    }
    default:
      return null
  }
}

/** The next row from `at`, going round, whose name begins with what was typed; one letter again and again leads on. */
export function typedTo(typed: string, rows: readonly TreeRow[], at: number): number {
  const letters = new Set(typed.toLowerCase())
  const [one] = letters
  const word = letters.size === 1 && one ? one : typed.toLowerCase()
  const start = word === one ? at + 1 : at
  const order = rows.map((_, i) => (start + i) % rows.length)
  return order.find(i => rows[i]?.name.toLowerCase().startsWith(word)) ?? at
}
