/** Uploads files into a root that takes them: only texts, and never over an existing file. A file that is refused reports why. */
import { ApiError, hasCode } from '@/api/client'
import { writeFile } from '@/api/endpoints'
import { refreshFiles } from '@/api/queries'
import { t } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'
import { createsSkills, type FileRef, type UploadFolder } from '@/lib/roots'
import { toast } from '@/stores/toasts'
import { openFile } from '@/stores/ui'
import { uploadTo } from './names'

/** Maximum bytes of a file; nobody edits a larger text here by hand. */
export const MOST_BYTES = 2 * 1024 * 1024
export const MOST_FILES = 50

export type Uploaded = { kind: 'done'; file: FileRef } | { kind: 'refused'; name: string; reason: string }

type Write = (path: string, content: string) => Promise<unknown>

export async function uploadOne(root: UploadFolder, file: File, write: Write, below = ''): Promise<Uploaded> {
  const refused = (reason: string): Uploaded => ({ kind: 'refused', name: file.name, reason })
  const to = uploadTo(root, file.name, below)
  if (to === null) return refused(t(createsSkills(root) ? 'uploadBadSkill' : 'uploadBadName'))
  if (file.size > MOST_BYTES) return refused(t('uploadTooLarge', { n: MOST_BYTES / 1024 / 1024 }))
  try {
    const bytes = await file.arrayBuffer()
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    if (text.includes('\0')) return refused(t('uploadNoText'))
    await write(`${to}`, text)
    return { kind: 'done', file: to }
  } catch (error) {
    if (error instanceof ApiError) {
      return refused(
        hasCode(error, 'changed_on_disk') ? t('uploadExists', { path: to.shown }) : reasonOf(error),
      )
    }
    // A folder cannot be read, and bytes that are not UTF-8 cannot be decoded.
    return refused(t(error instanceof TypeError ? 'uploadNoText' : 'uploadUnreadable'))
  }
}

/** `below` is a folder of the root; the root itself if it is empty. */
export async function upload(root: UploadFolder, files: readonly File[], below = ''): Promise<void> {
  if (files.length === 0) return
  if (files.length > MOST_FILES) return toast(t('uploadTooMany', { n: MOST_FILES }), { tone: 'bad' })
  const done: FileRef[] = []
  const refused: string[] = []
  for (const file of files) {
    const write: Write = (path, content) => writeFile(path, content, 'absent')
    const result = await uploadOne(root, file, write, below)
    if (result.kind === 'done') done.push(result.file)
    else refused.push(`${result.name}: ${result.reason}`)
  }
  if (done.length > 0) {
    refreshFiles(...done)
    const [only] = done
    toast(
      done.length === 1 && only ? t('uploadedOne', { path: only.shown }) : t('uploaded', { n: done.length }),
    )
    if (done.length === 1 && only) openFile(only)
  }
  if (refused.length > 0) toast(refused.join('\n'), { tone: 'bad' })
}
