/** What is shown of files is read again when they change on disk: once for all that change together. */
import { keys, refresh } from '@/api/queries'
import { folderNamed, testsOf } from '@/api/retrieval'
import { FileRef } from '@/lib/roots'

type QueryKey = readonly unknown[]

/** A checkout changes many files at once; what comes within this time is one change. */
const TOGETHER_MS = 50
/** Of so many, everything that is shown of files is read again. */
const MANY = 100
const ALL: readonly QueryKey[] = [keys.files, keys.texts, keys.skills, keys.retrieval]

const paths = new Set<string>()

export function onFileChanged(path: string): void {
  if (paths.size === 0) setTimeout(readAgain, TOGETHER_MS)
  paths.add(path)
}

/** Too many files of a folder changed for each to be named. */
export const onFolderChanged = (): void => ALL.forEach(refresh)

function readAgain(): void {
  const changed = [...paths]
  paths.clear()
  const old = changed.length < MANY ? changed.flatMap(shownOf) : ALL
  for (const key of new Map(old.map(key => [JSON.stringify(key), key])).values()) refresh(key)
}

/** What may be shown of a file. */
function shownOf(path: string): readonly QueryKey[] {
  const always = [keys.files, keys.text(path)]
  const file = FileRef.parse(path)
  if (file?.traits.trust) return [...always, keys.skills]
  if (!file?.traits.searched) return always
  const folder = folderNamed(file.root)
  return file === testsOf(folder)
    ? [...always, keys.tests(folder)]
    : [...always, keys.index, keys.searches(folder), [...keys.chunks, path]]
}
