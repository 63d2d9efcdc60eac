/** Changed files as rows of a tree: folders first, and only the content of open folders. */
import type { ChangedFile } from '@/api/types'
import type { TreeItem } from '@/features/inspector/tree'
import { shownPath } from '@/lib/roots'

export interface ChangeRow extends TreeItem {
  kind: 'folder' | 'file'
  /** 1-based position among its siblings, and their number. */
  position: number
  siblings: number
  /** Of a folder, its own change; null if it did not change itself. */
  file: ChangedFile | null
  /** Number of changed files in it, without the folder itself. */
  count: number
}

interface Folder {
  path: string
  name: string
  folders: Map<string, Folder>
  files: ChangedFile[]
  /** The change of the folder itself. */
  own: ChangedFile | null
  count: number
}

const { compare } = new Intl.Collator(undefined, { numeric: true })
const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)
const folder = (path: string): Folder => ({
  path,
  name: nameOf(path),
  folders: new Map(),
  files: [],
  own: null,
  count: 0,
})

const isFolder = ({ before, after }: ChangedFile): boolean =>
  [before, after].some(version => version?.content === 'folder')

function grouped(files: readonly ChangedFile[]): Folder {
  const top = folder('')
  for (const file of files) {
    const names = shownPath(file.path).split('/').slice(0, -1)
    let at = top
    names.forEach((name, i) => {
      const below = at.folders.get(name) ?? folder(names.slice(0, i + 1).join('/'))
      at.folders.set(name, below)
      below.count++
      at = below
    })
    at.files.push(file)
  }
  adopt(top)
  return top
}

/** Takes the change of a folder that has rows below it to that folder, so that it has one row. */
function adopt(at: Folder): void {
  at.files = at.files.filter(file => {
    const below = isFolder(file) ? at.folders.get(nameOf(file.path)) : undefined
    if (below) below.own = file
    return !below
  })
  at.folders.forEach(adopt)
}

/** The rows of all folders whose parents are open. */
export function changeRows(
  files: readonly ChangedFile[],
  isOpen: (folder: string) => boolean,
): readonly ChangeRow[] {
  const rows: ChangeRow[] = []
  const add = (content: Folder, level: number): void => {
    const folders = [...content.folders.values()].sort((a, b) => compare(a.name, b.name))
    const own = content.files.toSorted((a, b) => compare(a.path, b.path))
    const siblings = folders.length + own.length
    folders.forEach((below, i) => {
      const { path, name, count, own: file } = below
      const open = isOpen(path)
      rows.push({ path, name, kind: 'folder', level, position: i + 1, siblings, open, file, count })
      if (open) add(below, level + 1)
    })
    own.forEach((file, i) => {
      const place = { level, position: folders.length + i + 1, siblings }
      const { path } = file
      rows.push({ path, name: nameOf(path), kind: 'file', ...place, open: false, file, count: 1 })
    })
  }
  add(grouped(files), 1)
  return rows
}

/** The file of the first row of the tree with a file. */
export const firstOf = (files: readonly ChangedFile[]): ChangedFile | null =>
  changeRows(files, () => true).find(row => row.kind === 'file')?.file ?? null

/** The files whose path, or path before a renaming, contains the text, without regard to case. */
export function matching(files: readonly ChangedFile[], text: string): readonly ChangedFile[] {
  const wanted = text.trim().toLowerCase()
  if (wanted === '') return files
  return files.filter(file =>
    [file.path, file.renamed_from ?? ''].map(shownPath).join('\n').toLowerCase().includes(wanted),
  )
}
