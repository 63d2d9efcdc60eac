/** A person's actions on the folders of a project. Those that can be refused resolve to null on success, else to the reason. */
import { restoreFile } from '@/api/endpoints'
import * as api from '@/api/projects'
import { refreshFiles } from '@/api/queries'
import { askAboutLinks, follow, leave, openBelow } from '@/features/editor/actions'
import { isDirty } from '@/features/editor/buffer'
import { useTabs } from '@/features/editor/tabs'
import { t } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'
import { FileRef, isBelow } from '@/lib/roots'
import { bufferOf } from '@/stores/buffers'
import { setFold } from '@/stores/folds'
import { toast } from '@/stores/toasts'
import { foldId } from './useTree'

export async function makeFolder(folder: FileRef): Promise<string | null> {
  try {
    await api.makeFolder(folder)
    refreshFiles(folder)
    return null
  } catch (error) {
    return reasonOf(error)
  }
}

/** The files below a folder that are open, or have a tab: one of the last visit is not loaded until it is shown. */
function shownBelow(folder: FileRef): Set<FileRef> {
  const tabs = useTabs.getState().tabs.filter(tab => isBelow(`${folder}`, `${tab}`))
  return new Set([...openBelow(`${folder}`), ...tabs])
}

/** Open files move along, with their unsaved edits. */
export async function renameFolder(from: FileRef, to: FileRef): Promise<string | null> {
  if (from === to) return null
  const versions = new Map(openBelow(`${from}`).map(file => [file, bufferOf(file)?.base.etag]))
  try {
    await api.renameFolder(from, to)
    for (const file of shownBelow(from)) {
      const moved = FileRef.of(to.root, `${to.path}${file.path.slice(from.path.length)}`)
      // A save may have answered meanwhile; a notice that the file is gone may have come, too.
      follow(file, moved, bufferOf(file)?.base.etag || versions.get(file))
    }
    refreshFiles(from, to)
    setFold(foldId(`${to}`), true)
    void askAboutLinks(from, to)
    return null
  } catch (error) {
    return reasonOf(error)
  }
}

/** Moves a folder to the trash, with a toast that restores it. Files with unsaved edits stay open. */
export async function deleteFolder(folder: FileRef): Promise<void> {
  try {
    const trash = await api.deleteFolder(folder)
    for (const file of shownBelow(folder)) {
      const buffer = bufferOf(file)
      if (!buffer || !isDirty(buffer)) leave(file)
    }
    refreshFiles(folder)
    const run = () => void bringBack(folder, trash)
    toast(t('folderDeleted', { path: folder.shown }), { action: { label: t('undo'), run } })
  } catch (error) {
    toast(t('notDone', { reason: reasonOf(error) }), { tone: 'bad' })
  }
}

async function bringBack(folder: FileRef, trash: string): Promise<void> {
  try {
    await restoreFile(trash)
    refreshFiles(folder)
  } catch (error) {
    toast(t('notDone', { reason: reasonOf(error) }), { tone: 'bad' })
  }
}
