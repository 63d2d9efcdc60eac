/**
 * The uploads of folders that may go on, remembered by this browser under the name of the folder. One that is under way is
 * claimed: another folder of that name, in this tab or another one, gets an upload of its own.
 */
import { store, stored } from '@/lib/storage'

/** Number of uploads that the browser remembers. */
const MOST_REMEMBERED = 8

type Known = readonly [folder: string, id: string]

function remembered(): readonly Known[] {
  try {
    const known: unknown = JSON.parse(stored('uploads') ?? '[]')
    // Earlier versions stored an object, with one upload for each name.
    const pairs: unknown[] = Array.isArray(known) ? known : Object.entries(known ?? {})
    return pairs.filter(
      (pair): pair is Known => Array.isArray(pair) && pair.every(text => typeof text === 'string'),
    )
  } catch {
    return []
  }
}

const remember = (known: readonly Known[]): boolean =>
  store('uploads', JSON.stringify(known.slice(-MOST_REMEMBERED)))

export const forget = (id: string): boolean => remember(remembered().filter(([, known]) => known !== id))

/** An upload that nobody else uses until it is released. */
export interface Claim {
  id: string
  release: () => void
}

const claimed = new Set<string>()

/** Claims an upload in all tabs; in this one only if the page was loaded without HTTPS, where there are no locks. */
function claim(id: string): Promise<Claim | null> {
  if (claimed.has(id)) return Promise.resolve(null)
  claimed.add(id)
  const { locks } = navigator as { locks?: LockManager }
  return new Promise(resolve => {
    if (!locks) return resolve({ id, release: () => claimed.delete(id) })
    const held = (lock: Lock | null) =>
      new Promise<void>(end => {
        const release = () => {
          claimed.delete(id)
          end()
        }
        resolve(lock && { id, release })
        if (!lock) release()
      })
    locks.request(`upload ${id}`, { ifAvailable: true }, held).catch(() => {
      claimed.delete(id)
      resolve(null)
    })
  })
}

/** Claims an upload of a folder with this name that may go on; null if there is none that nobody uses. */
export async function claimKnown(folder: string): Promise<Claim | null> {
  for (const [name, id] of remembered()) {
    const found = name === folder && (await claim(id))
    if (found) return found
  }
  return null
}

/** Remembers an upload that has just begun, and claims it. */
export async function claimNew(folder: string, id: string): Promise<Claim> {
  remember([...remembered(), [folder, id]])
  return (await claim(id)) ?? { id, release: () => undefined }
}
