/** A skill is a folder: what is done to its SKILL.md in the list is done to the scripts and references beside it. */
import { listFiles } from '@/api/endpoints'
import type { FileEntry } from '@/api/types'
import { bringBack, discard, remove, rename, type Trashed } from '@/features/editor/actions'
import { t } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'
import { toast } from '@/stores/toasts'
import { nameIn } from './names'

/** Half of what the server's trash keeps: more at once might push out what a person wants back. */
export const MOST_FILES = 100

const folderOf = (path: string): string => path.slice(0, path.lastIndexOf('/') + 1)

async function besides(path: string): Promise<FileEntry[]> {
  const files = await listFiles('skills')
  return files.filter(file => file.path !== path && file.path.startsWith(folderOf(path)))
}

function tellLeft(left: readonly string[]): void {
  if (left.length > 0) toast(t('skillStayed', { files: left.join('; ') }), { tone: 'bad' })
}

/** Answers why it could not be done, or null. SKILL.md goes first: where it may not, nothing has moved. */
export async function renameSkill(path: string, to: string): Promise<string | null> {
  const left: string[] = []
  try {
    const others = await besides(path)
    const reason = await rename(path, to)
    if (reason !== null) return reason
    for (const other of others) {
      const why = await rename(other.path, folderOf(to) + other.path.slice(folderOf(path).length))
      if (why !== null) left.push(`${other.path}: ${why}`)
    }
  } catch (error) {
    return reasonOf(error)
  }
  tellLeft(left)
  return null
}

/** All of it into the server's trash; one toast brings all of it back. */
export async function removeSkill(path: string): Promise<void> {
  const trashed: Trashed[] = []
  const left: string[] = []
  try {
    const others = await besides(path)
    if (others.length === 0) return await remove(path)
    if (others.length >= MOST_FILES) throw new Error(t('skillTooMany', { n: MOST_FILES }))
    trashed.push(await discard(path))
    for (const other of others) {
      try {
        trashed.push(await discard(other.path, other.etag ?? null))
      } catch (error) {
        left.push(`${other.path}: ${reasonOf(error)}`)
      }
    }
  } catch (error) {
    return toast(t('notDone', { reason: reasonOf(error) }), { tone: 'bad' })
  }
  const run = async () => {
    for (const file of trashed) await bringBack(file.path, file.trash, file.wasOpen)
  }
  const words = t('skillDeleted', { name: nameIn(path), n: trashed.length })
  toast(words, { action: { label: t('undo'), run: () => void run() } })
  tellLeft(left)
}
