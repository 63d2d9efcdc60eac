/** A skill is a folder: an action on its SKILL.md in the list applies to the scripts and references beside it. */
import { listFiles } from '@/api/endpoints'
import { bringBack, discard, remove, rename, type Trashed } from '@/features/editor/actions'
import { t } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'
import { FileRef, isBelow } from '@/lib/roots'
import { toast } from '@/stores/toasts'
import { nameIn } from './names'

/** Half of the capacity of the server's trash: more at once might evict files that a person wants to restore. */
export const MOST_FILES = 100

/** The folder of a file, below its root. */
const folderOf = ({ path }: FileRef): string => path.slice(0, path.lastIndexOf('/'))

interface Beside {
  file: FileRef
  etag: string | null
}

async function besides(skill: FileRef): Promise<Beside[]> {
  const files = await listFiles(skill.root)
  return files.flatMap(({ path, etag }) => {
    const file = FileRef.parse(path)
    const isBeside = file && file !== skill && isBelow(folderOf(skill), file.path)
    return isBeside ? [{ file, etag: etag ?? null }] : []
  })
}

function tellLeft(left: readonly string[]): void {
  if (left.length > 0) toast(t('skillStayed', { files: left.join('; ') }), { tone: 'bad' })
}

/** Returns null on success, else the reason. SKILL.md goes first: if it cannot be moved, nothing has moved. */
export async function renameSkill(skill: FileRef, to: FileRef): Promise<string | null> {
  const left: string[] = []
  try {
    const others = await besides(skill)
    const reason = await rename(skill, to)
    if (reason !== null) return reason
    for (const { file } of others) {
      const below = file.path.slice(folderOf(skill).length)
      const why = await rename(file, FileRef.of(to.root, `${folderOf(to)}${below}`))
      if (why !== null) left.push(`${file}: ${why}`)
    }
  } catch (error) {
    return reasonOf(error)
  }
  tellLeft(left)
  return null
}

/** Moves all files of a skill to the server's trash; one toast restores all of them. */
export async function removeSkill(skill: FileRef): Promise<void> {
  const trashed: Trashed[] = []
  const left: string[] = []
  try {
    const others = await besides(skill)
    if (others.length === 0) return await remove(skill)
    if (others.length >= MOST_FILES) throw new Error(t('skillTooMany', { n: MOST_FILES }))
    trashed.push(await discard(skill))
    for (const { file, etag } of others) {
      try {
        trashed.push(await discard(file, etag))
      } catch (error) {
        left.push(`${file}: ${reasonOf(error)}`)
      }
    }
  } catch (error) {
    return toast(t('notDone', { reason: reasonOf(error) }), { tone: 'bad' })
  }
  const run = async () => {
    for (const { file, trash, wasOpen } of trashed) await bringBack(file, trash, wasOpen)
  }
  const words = t('skillDeleted', { name: nameIn(skill), n: trashed.length })
  toast(words, { action: { label: t('undo'), run: () => void run() } })
  tellLeft(left)
}
