/** Uploads files of any kind, and whole folders, into a project. An existing file is replaced only when the person says so. */
import { hasCode } from '@/api/client'
import { deleteFile, restoreFile } from '@/api/endpoints'
import type { UploadedFile } from '@/api/projects'
import { refreshFiles } from '@/api/queries'
import { addToProject } from '@/api/uploads'
import { readFolder } from '@/features/project/folder'
import { t } from '@/lib/i18n'
import '@/lib/later'
import { reasonOf } from '@/lib/reason'
import { FileRef, type ProjectRoot, projectOf } from '@/lib/roots'
import { toast } from '@/stores/toasts'
import { openFile } from '@/stores/ui'

/** Number of refused files that are named. */
const NAMED = 5

interface Outcome {
  done: { file: FileRef; trash: string | undefined }[]
  /** Files that exist already. */
  taken: UploadedFile[]
  refused: string[]
}

/** The files of a drop or a choice, with their paths below the folder that they go to. */
export async function filesOf(
  files: readonly File[],
  folders: readonly FileSystemDirectoryEntry[],
): Promise<UploadedFile[]> {
  const names = new Set(folders.map(folder => folder.name))
  const single = files.filter(file => !names.has(file.name)).map(file => ({ path: file.name, file }))
  const inner = await Promise.all(folders.map(folder => readFolder(folder, () => undefined)))
  return [...single, ...inner.flatMap(folder => folder.files)]
}

async function send(root: ProjectRoot, below: string, files: readonly UploadedFile[], onlyNew: boolean) {
  const outcome: Outcome = { done: [], taken: [], refused: [] }
  for (const given of files) {
    try {
      const added = await addToProject({ id: projectOf(root) ?? '', folder: below }, given, { onlyNew })
      if (added) outcome.done.push({ file: FileRef.of(root, added.path), trash: added.trash })
    } catch (error) {
      if (onlyNew && hasCode(error, 'changed_on_disk')) outcome.taken.push(given)
      else outcome.refused.push(`${given.path}: ${reasonOf(error)}`)
    }
  }
  return outcome
}

/** `below` is a folder of the project; its root if it is empty. */
export async function uploadToProject(
  root: ProjectRoot,
  files: readonly UploadedFile[],
  below = '',
): Promise<void> {
  if (files.length === 0) return
  tell(await send(root, below, files, true), taken => {
    void send(root, below, taken, false).then(outcome => tell(outcome, () => undefined))
  })
}

function tell({ done, taken, refused }: Outcome, replace: (taken: readonly UploadedFile[]) => void): void {
  if (done.length > 0) {
    refreshFiles(...done.map(({ file }) => file))
    const [only] = done
    const replaced = done.flatMap(({ trash, file }) => (trash ? [{ trash, file }] : []))
    const undo = { label: t('undo'), run: () => void bringBack(replaced) }
    toast(
      done.length === 1 && only
        ? t('uploadedOne', { path: only.file.shown })
        : t('uploaded', { n: done.length }),
      replaced.length > 0 ? { action: undo } : {},
    )
    if (done.length === 1 && only) openFile(only.file)
  }
  if (taken.length > 0) {
    const action = { label: t('uploadReplace'), run: () => replace(taken) }
    const [only] = taken
    const words =
      taken.length === 1 && only
        ? t('uploadExists', { path: only.path })
        : t('uploadSomeExist', { n: taken.length })
    toast(words, { action })
  }
  if (refused.length > 0) {
    const more = refused.length > NAMED ? [t('uploadMoreRefused', { n: refused.length - NAMED })] : []
    toast([...refused.slice(0, NAMED), ...more].join('\n'), { tone: 'bad' })
  }
}

/** Puts back what was replaced; what replaced it goes to the trash. */
async function bringBack(replaced: readonly { trash: string; file: FileRef }[]): Promise<void> {
  try {
    for (const { trash, file } of replaced) {
      await deleteFile(`${file}`, null)
      await restoreFile(trash)
    }
    refreshFiles(...replaced.map(({ file }) => file))
  } catch (error) {
    toast(t('notDone', { reason: reasonOf(error) }), { tone: 'bad' })
  }
}
