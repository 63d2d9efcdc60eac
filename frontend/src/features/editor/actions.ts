/** Actions of the person, the disk and the server on open files. */
import { hasCode } from '@/api/client'
import { deleteFile, readFile, renameFile, restoreFile, sameEtag, writeFile } from '@/api/endpoints'
import { refreshFiles } from '@/api/queries'
import { t } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'
import { FileRef, isBelow, isProject } from '@/lib/roots'
import { bufferOf, dispatchBuffer, dropFile, openFileOf, putFile, useBuffers } from '@/stores/buffers'
import { toast } from '@/stores/toasts'
import { openFile, useUi } from '@/stores/ui'
import { cancelAutosave, isAutosaved, scheduleAutosave } from './autosave'
import { isDirty, movedBuffer, openBuffer, type Writer } from './buffer'
import { faultIn } from './fault'

const isGone = (error: unknown): boolean => hasCode(error, 'not_found')

/** Versions announced during a save. Only after the save can the page distinguish its own version from another. */
const announcedEtags = new Map<FileRef, string>()

const loading = new Map<FileRef, Promise<void>>()

/** Loads a file unless it is open. Resolves once it is open or has failed. */
export function open(file: FileRef): Promise<void> {
  const known = openFileOf(file)
  if (known?.phase === 'open') return Promise.resolve()
  const started = known?.phase === 'loading' && loading.get(file)
  if (started) return started
  const done = load(file).finally(() => loading.delete(file))
  loading.set(file, done)
  return done
}

async function load(file: FileRef): Promise<void> {
  putFile(file, { phase: 'loading' })
  try {
    const read = await readFile(`${file}`)
    putFile(file, { phase: 'open', buffer: openBuffer(file, read.content, read.etag, read.tokens ?? null) })
  } catch (error) {
    const [missing, binary] = [isGone(error), hasCode(error, 'not_utf8')]
    putFile(file, { phase: 'failed', reason: reasonOf(error), missing, binary })
  }
}

export function edit(file: FileRef, text: string): void {
  dispatchBuffer(file, { type: 'edited', text })
  scheduleAutosave(file, saveUnasked)
}

/** Saves the edits, unless a conflict is open or the person is looking at the difference. */
export function saveUnasked(file: FileRef): void {
  cancelAutosave(file)
  const looking = useBuffers.getState().comparing?.file === file
  if (isAutosaved(file) && !looking && bufferOf(file)?.state.kind === 'dirty') void save(file, 'unasked')
}

/**
 * Texts that the person was warned about, because a program cannot parse them, by file. The next save writes them as
 * they are.
 */
const warnedTexts = new Map<FileRef, string>()

/** Returns why this text should not be saved as it is, or null. */
async function saveWarning(file: FileRef, text: string, unasked: boolean): Promise<string | null> {
  if (warnedTexts.get(file) === text && !unasked) return null
  const reason = await faultIn(file, text)
  if (reason === null) return null
  if (!unasked) warnedTexts.set(file, text)
  return t(unasked ? 'notReadableUnasked' : 'notReadable', { reason })
}

export async function save(file: FileRef, how: 'asked' | 'unasked' = 'asked'): Promise<void> {
  const before = bufferOf(file)
  const reason = before && (await saveWarning(file, before.text, how === 'unasked'))
  const buffer = bufferOf(file)
  if (!buffer) return
  if (reason) return dispatchBuffer(file, { type: 'save_failed', reason })
  const parked = buffer.state.kind === 'saving' || buffer.state.kind === 'conflict'
  if (parked || (buffer.state.kind === 'clean' && !isDirty(buffer))) return
  const content = buffer.text
  dispatchBuffer(file, { type: 'saving' })
  try {
    const { etag } = buffer.base
    const saved = await writeFile(`${file}`, content, etag === '' ? 'absent' : { match: etag })
    const at = Date.now() / 1000
    dispatchBuffer(file, { type: 'saved', content, etag: saved.etag, tokens: saved.tokens ?? null, at })
    endComparison(file)
    refreshFiles(file)
    const announced = announcedEtags.get(file)
    if (announced !== undefined && !sameEtag(announced, saved.etag)) {
      await diskChanged(file, (await readFile(`${file}`)).etag, 'disk')
    }
  } catch (error) {
    if (hasCode(error, 'changed_on_disk')) {
      const etag = typeof error.body.etag === 'string' ? error.body.etag : ''
      dispatchBuffer(file, etag === '' ? { type: 'disk_deleted' } : { type: 'refused', etag })
    } else dispatchBuffer(file, { type: 'save_failed', reason: reasonOf(error) })
  } finally {
    announcedEtags.delete(file)
    // Saves edits made during this save.
    if (bufferOf(file)?.state.kind === 'dirty' && !bufferOf(file)?.problem)
      scheduleAutosave(file, saveUnasked)
  }
}

/** Handles another version on disk: an unedited text is replaced silently, an edited one raises a conflict. */
export async function diskChanged(file: FileRef, etag: string | null, by: Writer): Promise<void> {
  const buffer = bufferOf(file)
  if (!buffer) {
    if (openFileOf(file)?.phase === 'failed') await open(file)
    return
  }
  if (etag === null) return dispatchBuffer(file, { type: 'disk_deleted' })
  if (sameEtag(etag, buffer.base.etag)) return
  if (buffer.state.kind === 'saving') {
    announcedEtags.set(file, etag)
    return
  }
  if (isDirty(buffer)) return dispatchBuffer(file, { type: 'disk_changed', etag, by })
  const before = buffer.base.content
  await loadDisk(file)
  if (by !== 'run' || useUi.getState().file !== file || bufferOf(file)?.base.content === before) return
  const run = () => {
    openFile(file)
    useBuffers.setState({ comparing: { file, disk: before } })
  }
  toast(t('changedByRun', { path: file.shown }), { action: { label: t('review'), run } })
}

/** Reads the open files of a folder again, which may have changed on disk. */
export async function folderChanged(folder: string): Promise<void> {
  for (const file of openBelow(folder)) {
    try {
      await diskChanged(file, (await readFile(`${file}`)).etag, 'disk')
    } catch (error) {
      // A change that cannot be read at this moment is detected at the next save at the latest.
      if (isGone(error)) await diskChanged(file, null, 'disk')
    }
  }
}

export async function loadDisk(file: FileRef): Promise<void> {
  try {
    const { content, etag, tokens } = await readFile(`${file}`)
    endComparison(file)
    dispatchBuffer(file, { type: 'disk_loaded', content, etag, tokens: tokens ?? null })
  } catch (error) {
    dispatchBuffer(
      file,
      isGone(error) ? { type: 'disk_deleted' } : { type: 'save_failed', reason: reasonOf(error) },
    )
  }
}

export async function keepMine(file: FileRef): Promise<void> {
  dispatchBuffer(file, { type: 'kept_mine' })
  await save(file)
}

export async function compare(file: FileRef): Promise<void> {
  try {
    const { content, etag } = await readFile(`${file}`)
    // No notice may have announced that version yet.
    if (bufferOf(file)?.state.kind === 'dirty')
      dispatchBuffer(file, { type: 'disk_changed', etag, by: 'disk' })
    useBuffers.setState({ comparing: { file, disk: content } })
  } catch (error) {
    dispatchBuffer(file, { type: 'save_failed', reason: reasonOf(error) })
  }
}

export function endComparison(file: FileRef): void {
  if (useBuffers.getState().comparing?.file !== file) return
  useBuffers.setState({ comparing: null })
  // Saves what the person chose: autosave waits during a comparison.
  scheduleAutosave(file, saveUnasked)
}

export type Created = { kind: 'created' } | { kind: 'exists' } | { kind: 'failed'; reason: string }

export async function create(file: FileRef, content: string): Promise<Created> {
  try {
    const saved = await writeFile(`${file}`, content, 'absent')
    putFile(file, { phase: 'open', buffer: openBuffer(file, content, saved.etag, saved.tokens ?? null) })
    refreshFiles(file)
    return { kind: 'created' }
  } catch (error) {
    return hasCode(error, 'changed_on_disk')
      ? { kind: 'exists' }
      : { kind: 'failed', reason: reasonOf(error) }
  }
}

/** The version that the person sees: that of the open file, or else the one on disk. */
const versionOf = async (file: FileRef): Promise<string> => {
  const known = bufferOf(file)?.base.etag
  return known ? known : (await readFile(`${file}`)).etag
}

/** Follows a file to its new place, also if it has unsaved edits. `etag` is its version. */
export function follow(file: FileRef, to: FileRef, etag?: string): void {
  const buffer = bufferOf(file)
  if (buffer) putFile(to, { phase: 'open', buffer: movedBuffer(buffer, to, etag ?? buffer.base.etag) })
  const wasOpen = useUi.getState().file === file
  endComparison(file)
  dropFile(file)
  useBuffers.setState({ moved: { from: file, to } })
  if (wasOpen) openFile(to)
}

/** The open files below a folder. */
export const openBelow = (folder: string): FileRef[] =>
  Object.keys(useBuffers.getState().files).flatMap(path => {
    const file = isBelow(folder, path) ? FileRef.parse(path) : null
    return file ?? []
  })

/** Asks whether links to a renamed file or folder of a project follow it. The code is loaded when it is needed. */
export const askAboutLinks = async (from: FileRef, to: FileRef): Promise<void> =>
  (await import('@/features/notes/formerLinks')).offerLinks(from, to)

/** Returns null on success, else the reason. Unsaved edits move along. */
export async function rename(file: FileRef, to: FileRef): Promise<string | null> {
  if (to === file) return null
  const buffer = bufferOf(file)
  try {
    const { etag } = await renameFile(`${file}`, `${to}`, buffer?.base.etag || null)
    follow(file, to, etag)
    refreshFiles(file, to)
    if (isProject(file.root)) void askAboutLinks(file, to)
    return null
  } catch (error) {
    return reasonOf(error)
  }
}

export interface Trashed {
  file: FileRef
  /** The trash id that restores it. */
  trash: string
  wasOpen: boolean
}

/**
 * Moves a file to the server's trash. Unsaved edits stay open. `listed` is the version from a file list, for a file
 * that may not be text.
 */
export async function discard(file: FileRef, listed?: string | null): Promise<Trashed> {
  const etag = listed === undefined ? await versionOf(file) : bufferOf(file)?.base.etag || listed
  const trash = await deleteFile(`${file}`, etag)
  const buffer = bufferOf(file)
  const wasOpen = useUi.getState().file === file
  if (!buffer || !isDirty(buffer)) leave(file)
  refreshFiles(file)
  return { file, trash, wasOpen }
}

/** Closes a file that is gone. */
export function leave(file: FileRef): void {
  const wasOpen = useUi.getState().file === file
  dropFile(file)
  useBuffers.setState({ moved: { from: file, to: null } })
  if (wasOpen) useUi.setState({ file: null })
}

/** Deletes a file, with a toast that restores it. */
export async function remove(file: FileRef): Promise<void> {
  try {
    // Any file of a project can be deleted, whether or not it is text.
    const { trash, wasOpen } = await discard(file, isProject(file.root) ? null : undefined)
    const run = () => void bringBack(file, trash, wasOpen)
    toast(t('fileDeleted', { path: file.shown }), { action: { label: t('undo'), run } })
  } catch (error) {
    toast(t('notDone', { reason: reasonOf(error) }), { tone: 'bad' })
  }
}

export async function bringBack(file: FileRef, trash: string, show: boolean): Promise<void> {
  try {
    const { etag } = await restoreFile(trash)
    refreshFiles(file)
    await diskChanged(file, etag, 'editor')
    if (show) openFile(file)
  } catch (error) {
    toast(t('notDone', { reason: reasonOf(error) }), { tone: 'bad' })
  }
}
