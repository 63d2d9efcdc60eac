/** Which file a link means; the same rules as the server's (`src/retrieval/note/names.rs`). */

const NOTE = /.\.(?:md|markdown)$/i

export const isNote = (path: string): boolean => NOTE.test(path)

const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)
export const folderOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')))
const folded = (path: string): string => path.normalize('NFC').toLowerCase()

/** The path that `path` means in a folder; null if it leads out of the project. */
export function joined(folder: string, path: string): string | null {
  const names = folder.split('/').filter(name => name !== '')
  for (const name of path.split('/')) {
    if (name === '..') {
      if (names.pop() === undefined) return null
    } else if (name !== '' && name !== '.') names.push(name)
  }
  return names.join('/')
}

function add(map: Map<string, string[]>, key: string, path: string): void {
  const known = map.get(key)
  if (known) known.push(path)
  else map.set(key, [path])
}

/** The files of a project by their names. Paths are relative to its root. */
export class FileNames {
  readonly #byPath = new Map<string, string[]>()
  readonly #byName = new Map<string, string[]>()

  constructor(paths: readonly string[]) {
    for (const path of paths) {
      const key = folded(path)
      add(this.#byPath, key, path)
      add(this.#byName, nameOf(key), path)
    }
  }

  /** The file that a link in the file `from` means, as Obsidian finds it; null if there is none. */
  resolve(target: string, from: string): string | null {
    const wanted = target.trim()
    if (wanted === '') return from
    const names = isNote(wanted) ? [wanted, `${wanted}.md`] : [`${wanted}.md`, wanted]
    for (const name of names) {
      const found = this.#find(name, folderOf(from))
      if (found !== null) return found
    }
    return null
  }

  /** The shortest text of a link that means this file from anywhere. */
  shortest(path: string): string {
    const short = (name: string) => name.replace(/\.md$/i, '')
    const sameName = this.#byName.get(nameOf(folded(path))) ?? []
    return short(sameName.length > 1 ? path : nameOf(path))
  }

  #find(name: string, folder: string): string | null {
    const at = (path: string | null) =>
      path === null ? null : nearest(this.#byPath.get(folded(path)) ?? [], path, folder)
    if (name.startsWith('/')) return at(name.slice(1))
    if (name.startsWith('./') || name.startsWith('../')) return at(joined(folder, name))
    if (!name.includes('/')) return nearest(this.#byName.get(folded(name)) ?? [], name, folder)
    const end = `/${folded(name)}`
    const byEnd = () =>
      near(this.#byName.get(nameOf(end)) ?? [], folder).filter(path => folded(path).endsWith(end))
    return at(name) ?? at(joined(folder, name)) ?? nearest(byEnd(), name, folder)
  }
}

/** Maximum number of files of the same name that are compared: those nearest to the folder of the link. */
const MOST_COMPARED = 200

/** The files nearest to a folder: they are sorted, so those that share the most with it are next to it. */
function near(found: readonly string[], folder: string): readonly string[] {
  if (found.length <= MOST_COMPARED) return found
  const prefix = folder === '' ? '' : `${folder}/`
  let low = 0
  let high = found.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((found[middle] ?? '') < prefix) low = middle + 1
    else high = middle
  }
  return found.slice(Math.max(0, low - MOST_COMPARED / 2), low + MOST_COMPARED / 2)
}

/** The file whose folder shares the most with `folder`; then one with the same case, then one nearer to the root. */
function nearest(found: readonly string[], name: string, folder: string): string | null {
  const here = folder.split('/')
  const rank = (path: string): [number, number, number] => {
    const own = folderOf(path).split('/')
    let shared = 0
    while (own[shared] !== undefined && own[shared] !== '' && own[shared] === here[shared]) shared++
    return [-shared, path.endsWith(name) ? 0 : 1, path.split('/').length]
  }
  let best: string | null = null
  let bestRank: [number, number, number] | null = null
  for (const path of near(found, folder)) {
    const its = rank(path)
    if (bestRank === null || compare(its, bestRank) < 0) [best, bestRank] = [path, its]
  }
  return best
}

const compare = (a: readonly number[], b: readonly number[]): number =>
  a.map((value, i) => value - (b[i] ?? 0)).find(difference => difference !== 0) ?? 0
