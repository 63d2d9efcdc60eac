/** The loaded folders as rows of a tree: folders first, and only the content of open folders. */
import type { FileEntry, FolderContent } from '@/api/types'
import { foldersOf } from '@/lib/roots'

/** A folder, as far as it is loaded. */
export interface Folder {
  /** Undefined until the server has sent it. */
  content: FolderContent | undefined
  /** Why it could not be read, or null. */
  problem: string | null
}

export type FolderOf = (path: string) => Folder | undefined

export interface TreeRow {
  /** A folder's path has no slash at its end. */
  path: string
  name: string
  kind: 'folder' | 'file' | 'rest'
  /** 1-based depth. */
  level: number
  /** 1-based position among its siblings, and their number. */
  position: number
  siblings: number
  /** Null unless the row is a file. */
  file: FileEntry | null
  open: boolean
  /** Of a folder, the sum of its content. */
  tokens: number | null
  /** Of an entry of a project: a `.gitignore` leaves it out, or it belongs to git. */
  ignored: boolean
  /** Why an open folder shows nothing, or null. */
  problem: string | null
  /** An open folder whose content is still loading. */
  loading: boolean
  /** Of a `rest` row, the number of entries that its folder has beyond those listed. */
  leftOut: number
  /** Of a `rest` row, the cursor of the entries that can be loaded; null if there are none. */
  next: string | null
}

const { compare } = new Intl.Collator(undefined, { numeric: true })

/** Number of entries from which comparing by the rules of a language would take longer than drawing the tree. */
const MANY = 1_000

/** The entries by their paths, numbers in them by their values. */
function byPath<E extends { path: string }>(entries: readonly E[]): E[] {
  if (entries.length < MANY) return entries.toSorted((a, b) => compare(a.path, b.path))
  const keyed = entries.map(entry => ({ entry, key: sortKey(entry.path) }))
  keyed.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
  return keyed.map(({ entry }) => entry)
}

/** A text in whose plain order numbers have the order of their values. */
const sortKey = (path: string): string =>
  path.toLowerCase().replace(/\d+/g, digits => digits.replace(/^0+(?=\d)/, '').padStart(16, '0'))

/** Sorted content by content, so that neither opening a folder nor rendering again sorts a second time. */
const ordered = new WeakMap<FolderContent, Pick<FolderContent, 'folders' | 'files'>>()

function inOrder(content: FolderContent) {
  const known = ordered.get(content)
  if (known) return known
  // The next page of a large folder comes after those that are there.
  if (content.pages) return content
  const sorted = { folders: byPath(content.folders), files: byPath(content.files) }
  ordered.set(content, sorted)
  return sorted
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)
const parentOf = (path: string): string => path.slice(0, path.lastIndexOf('/'))

/** Groups a list of files below `root` by their folders. `leftOut` is the number of files that the list lacks. */
export function foldersIn(
  files: readonly FileEntry[],
  root: string,
  leftOut = 0,
): Map<string, FolderContent> {
  const top: FolderContent = { path: root, folders: [], files: [], left_out: leftOut }
  const known = new Map([[root, top]])
  const entries = new Map<string, { path: string; tokens: number }>()
  const contentOf = (path: string): FolderContent => {
    const there = known.get(path)
    if (there) return there
    const made: FolderContent = { path, folders: [], files: [], left_out: 0 }
    const entry = { path, tokens: 0 }
    known.set(path, made)
    entries.set(path, entry)
    contentOf(parentOf(path)).folders.push(entry)
    return made
  }
  for (const file of files) {
    contentOf(parentOf(file.path)).files.push(file)
    for (const folder of foldersOf(file.path)) {
      const entry = entries.get(folder)
      if (entry) entry.tokens += file.tokens ?? 0
    }
  }
  return known
}

/** The rows of `root` and of the open folders below it. */
export function treeRows(folderOf: FolderOf, root: string, isOpen: (folder: string) => boolean): TreeRow[] {
  const rows: TreeRow[] = []
  const add = (content: FolderContent, level: number): void => {
    const { folders, files } = inOrder(content)
    const siblings = folders.length + files.length + (content.left_out > 0 ? 1 : 0)
    const row = (path: string, position: number): TreeRow => ({
      ...{ path, name: nameOf(path), kind: 'file', level, position, siblings },
      ...{ file: null, open: false, tokens: null, ignored: false },
      ...{ problem: null, loading: false, leftOut: 0, next: null },
    })
    folders.forEach(({ path, tokens = null, ignored = false }, i) => {
      const open = isOpen(path)
      const folder = open ? folderOf(path) : undefined
      const problem = folder?.problem ?? null
      const loading = open && !folder?.content && problem === null
      rows.push({ ...row(path, i + 1), kind: 'folder', open, tokens, ignored, problem, loading })
      if (folder?.content) add(folder.content, level + 1)
    })
    files.forEach((file, i) => {
      const { path, tokens = null, ignored = false } = file
      rows.push({ ...row(path, folders.length + i + 1), file, tokens, ignored })
    })
    if (content.left_out > 0) {
      const rest: TreeRow = { ...row(`${content.path}/`, siblings), kind: 'rest' }
      rows.push({ ...rest, leftOut: content.left_out, next: content.pages?.next ?? null })
    }
  }
  const top = folderOf(root)?.content
  if (top) add(top, 1)
  return rows
}

/** The open folders below `root` whose parents are open, as far as they are loaded; `root` first. */
export function openFolders(
  contentOf: (folder: string) => FolderContent | undefined,
  root: string,
  isOpen: (folder: string) => boolean,
): string[] {
  const open = contentOf(root)?.folders.filter(({ path }) => isOpen(path)) ?? []
  return [root, ...open.flatMap(({ path }) => openFolders(contentOf, path, isOpen))]
}

/** The effect of a key on a row: moves to another row, or opens and closes a folder. */
export type Move = { to: number } | 'toggle' | null

/** A row of any tree, as far as keys concern it. */
export interface TreeItem {
  path: string
  name: string
  kind: 'folder' | 'file' | 'rest'
  level: number
  open: boolean
}

/** Follows the ARIA Authoring Practices for trees. */
export function moveBy(key: string, rows: readonly TreeItem[], at: number): Move {
  const row = rows[at]
  if (!row) return null
  const isFolder = row.kind === 'folder'
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
      if (!row.open) return 'toggle'
      return (rows[at + 1]?.level ?? 0) > row.level ? { to: at + 1 } : null
    case 'ArrowLeft': {
      if (isFolder && row.open) return 'toggle'
      const parent = rows.slice(0, at).findLastIndex(other => other.level < row.level)
      return parent < 0 ? null : { to: parent }
    }
    default:
      return null
  }
}

/** The next row from `at`, wrapping around, whose name starts with the typed text; repeating one letter moves on. */
export function typedTo(typed: string, rows: readonly TreeItem[], at: number): number {
  const letters = new Set(typed.toLowerCase())
  const [one] = letters
  const word = letters.size === 1 && one ? one : typed.toLowerCase()
  const start = word === one ? at + 1 : at
  const order = rows.map((_, i) => (start + i) % rows.length)
  return order.find(i => rows[i]?.name.toLowerCase().startsWith(word)) ?? at
}
