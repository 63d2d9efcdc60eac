/**
 * Local storage that never throws: private windows and full disks must not break the page. A person's data is stored
 * under that person, so that two people who share a browser do not see each other's drafts.
 */

/** The person of a server that has only one. */
const OWNER = 'owner'

/**
 * Settings of the browser, which are needed before anyone has signed in (public/boot.js reads some too), and the id of
 * the person who signed in last.
 */
const OF_BROWSER: readonly string[] = ['theme', 'lang', 'text', 'density', 'person']

const OLD_PREFIX = 'mc.'
const keyOf = (name: string): string =>
  OF_BROWSER.includes(name) ? `${OLD_PREFIX}${name}` : `mc:${personOfPage ?? OWNER}:${name}`

/**
 * The id of the person whose data this page stores and shows; null on a server for one person. It never changes: whoever
 * else signs in gets a new page, so that nothing in the memory of this one is shown to them.
 */
export const personOfPage: string | null = stored('person')

/** The person whose page is loaded next. */
export const rememberPerson = (id: string | null): boolean => store('person', id)

/** Moves values that were stored before keys belonged to a person. */
export function migrateStorage(): void {
  try {
    for (const key of Object.keys(localStorage)) {
      const name = key.startsWith(OLD_PREFIX) ? key.slice(OLD_PREFIX.length) : ''
      if (name === '' || OF_BROWSER.includes(name)) continue
      const value = localStorage.getItem(key) ?? ''
      // Removes first: storage may have no room for both.
      localStorage.removeItem(key)
      localStorage.setItem(keyOf(name), value)
    }
  } catch {
    // storage is blocked: nothing was stored
  }
}
migrateStorage()

export function stored(name: string): string | null {
  try {
    return localStorage.getItem(keyOf(name))
  } catch {
    return null
  }
}

/** Removes everything that is stored under the person, for the next user of this browser. */
export function clearPersonalStorage(): void {
  try {
    const own = Object.keys(localStorage).filter(key => key.startsWith(keyOf('')))
    for (const key of own) localStorage.removeItem(key)
  } catch {
    // storage is blocked: nothing was stored
  }
}

/** Returns false if the value could not be stored. */
export function store(name: string, value: string | null): boolean {
  try {
    if (value === null) localStorage.removeItem(keyOf(name))
    else localStorage.setItem(keyOf(name), value)
    return true
  } catch {
    // not stored: the value lives until the page is closed
    return false
  }
}
