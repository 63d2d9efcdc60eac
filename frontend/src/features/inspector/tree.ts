/** The files of a list as the lines of a tree: folders first, and only what stands in open ones. */
import type { FileEntry } from '@/api/types'

export interface TreeRow {
  /** Of a folder without a slash at its end. */
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

type Named<T> = readonly [name: string, what: T]

/** What stands directly in a folder, in order, and the tokens of all that is below it. */
interface Level {
  folders: readonly Named<readonly FileEntry[]>[]
  files: readonly Named<FileEntry>[]
  tokens: number
}

const { compare } = new Intl.Collator(undefined, { numeric: true })
const byName = ([a]: Named<unknown>, [b]: Named<unknown>): number => compare(a, b)

/** Levels by the list that they were made of: opening a folder or drawing anew sorts no list a second time. */
const levels = new WeakMap<readonly FileEntry[], Level>()
/** Lists that are in order already: those that `matching` makes, and their parts. */
const ordered = new WeakSet<readonly FileEntry[]>()

function levelOf(list: readonly FileEntry[], folder: string): Level {
  const known = levels.get(list)
  if (known) return known
  const inside = new Map<string, FileEntry[]>()
  const files: Named<FileEntry>[] = []
  let tokens = 0
  for (const file of list) {
    tokens += file.tokens ?? 0
    const below = file.path.slice(folder.length + 1)
    const slash = below.indexOf('/')
    const name = slash < 0 ? below : below.slice(0, slash)
    if (slash < 0) files.push([name, file])
    else {
      const known = inside.get(name)
      if (known) known.push(file)
      else inside.set(name, [file])
    }
  }
  const folders = [...inside]
  if (ordered.has(list)) for (const [, part] of folders) ordered.add(part)
  else {
    folders.sort(byName)
    files.sort(byName)
  }
  const level = { folders, files, tokens }
  levels.set(list, level)
  return level
}

/** All files of a list in the order of the tree, by the list. */
const orders = new WeakMap<readonly FileEntry[], readonly FileEntry[]>()

function inOrder(list: readonly FileEntry[], folder: string): readonly FileEntry[] {
  const known = orders.get(list)
  if (known) return known
  const order = treeRows(list, folder, () => true).flatMap(({ file }) => file ?? [])
  orders.set(list, order)
  return order
}

/** The files that `wanted` accepts, in the order of the tree: the list is sorted once, however often it is filtered. */
export function matching(
  list: readonly FileEntry[],
  folder: string,
  wanted: (file: FileEntry) => boolean,
): readonly FileEntry[] {
  const found = inOrder(list, folder).filter(wanted)
  ordered.add(found)
  return found
}

/** Files whose paths begin with `folder` and a slash, as rows. */
export function treeRows(
  list: readonly FileEntry[],
  folder: string,
  isOpen: (folder: string) => boolean,
): TreeRow[] {
  const rows: TreeRow[] = []
  const add = (part: readonly FileEntry[], of: string, level: number): void => {
    const { folders, files } = levelOf(part, of)
    const siblings = folders.length + files.length
    folders.forEach(([name, inside], i) => {
      const path = `${of}/${name}`
      const open = isOpen(path)
      const { tokens } = levelOf(inside, path)
      rows.push({ path, name, level, position: i + 1, siblings, file: null, open, tokens })
      if (open) add(inside, path, level + 1)
    })
    files.forEach(([name, file], i) => {
      const position = folders.length + i + 1
      const tokens = file.tokens ?? null
      rows.push({ path: file.path, name, level, position, siblings, file, open: false, tokens })
    })
  }
  add(list, folder, 1)
  return rows
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
