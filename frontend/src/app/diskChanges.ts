/** Refreshes file data when files change on disk: once for all changes that arrive together. */
import { keys, listsOf, type QueryKey, refresh, refreshEach } from '@/api/queries'
import { testsOf } from '@/api/retrieval'
import { isTrustedByVersion } from '@/lib/guidance'
import { FileRef, isSearchFolder } from '@/lib/roots'

/** Milliseconds. A checkout changes many files at once; changes within this time are handled together. */
const TOGETHER_MS = 50
/** Number of changed files from which all file data is refreshed. */
const MANY = 100
const ALL: readonly QueryKey[] = [keys.files, keys.texts, keys.skills, keys.retrieval]

const paths = new Set<string>()

export function onFileChanged(path: string): void {
  if (paths.size === 0) setTimeout(readAgain, TOGETHER_MS)
  paths.add(path)
}

/** Handles a notice that names only the folder, because too many of its files changed. */
export const onFolderChanged = (): void => ALL.forEach(refresh)

function readAgain(): void {
  const changed = [...paths]
  paths.clear()
  refreshEach(changed.length < MANY ? changed.flatMap(shownOf) : ALL)
}

/** The queries that may contain data of a file. */
function shownOf(path: string): readonly QueryKey[] {
  const file = FileRef.parse(path)
  if (!file) return [keys.text(path)]
  const always = [...listsOf(file), keys.text(path)]
  if (isTrustedByVersion(file)) return [...always, keys.skills]
  const folder = file.root
  if (!isSearchFolder(folder)) return always
  return file === testsOf(folder)
    ? [...always, keys.tests(folder)]
    : [...always, keys.index, keys.searches(folder), [...keys.chunks, path]]
}
