/** The files of a folder on the person's computer, chosen or dropped, as they are uploaded. */
import type { UploadedFile } from '@/api/projects'

export interface ChosenFolder {
  name: string
  files: readonly UploadedFile[]
  /** Of all files together. */
  bytes: number
}

/** The most that the server accepts: files, and bytes of all of them. */
export const MOST_FILES = 100_000
export const MOST_BYTES = 1024 ** 3

/** Forms lose these characters of a path, or escape them, so that the server cannot refuse them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that it looks for
const LOST = /[\\\u0000-\u001f\u007f]/

/** The path of a file that no project can have; null if there is none. */
export const badPathIn = ({ files }: ChosenFolder): string | null =>
  files.find(({ path }) => LOST.test(path))?.path ?? null

/** A folder of these files, whose paths begin with its name. */
function folderOf(name: string, files: readonly UploadedFile[]): ChosenFolder {
  return { name, files, bytes: files.reduce((sum, { file }) => sum + file.size, 0) }
}

/** The folder that a person chose in the system's dialog; null if it has no files, because browsers then name none. */
export function chosenFolder(list: Iterable<File>): ChosenFolder | null {
  const files = [...list].map(file => ({ path: file.webkitRelativePath || file.name, file }))
  const [first] = files
  return first ? folderOf(first.path.split('/')[0] ?? '', files) : null
}

/** The folders among what was dropped. Read them at once: after the event they are gone. */
export const droppedFolders = ({ items }: DataTransfer): FileSystemDirectoryEntry[] =>
  [...items]
    .map(item => item.webkitGetAsEntry?.() ?? null)
    .filter((entry): entry is FileSystemDirectoryEntry => entry?.isDirectory === true)

/**
 * Reads a dropped folder to its end, folder by folder. `onRead` tells the number of files so far. A folder with more
 * files than the server accepts is read only until that is known.
 */
export async function readFolder(
  folder: FileSystemDirectoryEntry,
  onRead: (files: number) => void,
): Promise<ChosenFolder> {
  const files: UploadedFile[] = []
  const folders = [folder]
  for (let next = folders.pop(); next && files.length <= MOST_FILES; next = folders.pop()) {
    for (const entry of await entriesOf(next)) {
      if (entry.isDirectory) folders.push(entry as FileSystemDirectoryEntry)
      else
        files.push({
          path: entry.fullPath.replace(/^\//, ''),
          file: await fileOf(entry as FileSystemFileEntry),
        })
    }
    onRead(files.length)
  }
  return folderOf(folder.name, files)
}

/** Browsers return the entries of a folder in batches; the last one is empty. */
async function entriesOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader()
  const all: FileSystemEntry[] = []
  for (;;) {
    const batch = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    )
    if (batch.length === 0) return all
    all.push(...batch)
  }
}

const fileOf = (entry: FileSystemFileEntry): Promise<File> =>
  new Promise((resolve, reject) => entry.file(resolve, reject))

export interface Progress {
  /** Bytes of the files that are sent, and how many files that is. */
  sent: number
  done: number
  /** The server has all files, and creates the project. */
  sentAll: boolean
  /** The connection is lost; the upload goes on when it is back. */
  waiting: boolean
}
