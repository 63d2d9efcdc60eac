/** What the person, the disk and the server do to open files. */
import { ApiError } from '@/api/client'
import { deleteFile, readFile, renameFile, restoreFile, sameEtag, writeFile } from '@/api/endpoints'
import { keys, refresh } from '@/api/queries'
import { t } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'
import { traitsOf } from '@/lib/roots'
import { bufferOf, dispatchBuffer, dropFile, putFile, useBuffers } from '@/stores/buffers'
import { toast } from '@/stores/toasts'
import { openFile, useUi } from '@/stores/ui'
import { isAutosaved, notNow, whenIdle } from './autosave'
import { isDirty, openBuffer, type Writer } from './buffer'
import { faultIn } from './fault'

const isGone = (error: unknown): boolean => error instanceof ApiError && error.status === 404

/** Versions announced while a save was on its way; only afterwards can one tell ours from another's. */
const heard = new Map<string, string>()

export async function open(path: string): Promise<void> {
  const known = useBuffers.getState().files[path]
  if (known && known.phase !== 'failed') return
  putFile(path, { phase: 'loading' })
  try {
    const file = await readFile(path)
    putFile(path, { phase: 'open', buffer: openBuffer(path, file.content, file.etag, file.tokens ?? null) })
  } catch (error) {
    putFile(path, { phase: 'failed', reason: reasonOf(error), missing: isGone(error) })
  }
}

export function edit(path: string, text: string): void {
  dispatchBuffer(path, { type: 'edited', text })
  whenIdle(path, saveUnasked)
}

/** Saves what is typed, unless a question about the file is open or a person looks at what would be saved. */
export function saveUnasked(path: string): void {
  notNow(path)
  const looking = useBuffers.getState().comparing?.path === path
  if (isAutosaved(path) && !looking && bufferOf(path)?.state.kind === 'dirty') void save(path, 'unasked')
}

/** Texts that a person was told cannot be read, by path: asked again, they are saved as they are. */
const told = new Map<string, string>()

/** Why this text should not be saved just so. */
async function doubt(path: string, text: string, unasked: boolean): Promise<string | null> {
  if (told.get(path) === text && !unasked) return null
  const reason = await faultIn(path, text)
  if (reason === null) return null
  if (!unasked) told.set(path, text)
  return t(unasked ? 'notReadableUnasked' : 'notReadable', { reason })
}

export async function save(path: string, how: 'asked' | 'unasked' = 'asked'): Promise<void> {
  const before = bufferOf(path)
  const reason = before && (await doubt(path, before.text, how === 'unasked'))
  const buffer = bufferOf(path)
  if (!buffer) return
  if (reason) return dispatchBuffer(path, { type: 'save_failed', reason })
  const parked = buffer.state.kind === 'saving' || buffer.state.kind === 'conflict'
  if (parked || (buffer.state.kind === 'clean' && !isDirty(buffer))) return
  const content = buffer.text
  dispatchBuffer(path, { type: 'saving' })
  try {
    const { etag } = buffer.base
    const saved = await writeFile(path, content, etag === '' ? 'absent' : { match: etag })
    const at = Date.now() / 1000
    dispatchBuffer(path, { type: 'saved', content, etag: saved.etag, tokens: saved.tokens ?? null, at })
    endComparison(path)
    refresh(keys.files)
    refresh(keys.tokens)
    if (traitsOf(path)?.trust) refresh(keys.skills)
    const other = heard.get(path)
    if (other !== undefined && !sameEtag(other, saved.etag)) {
      await diskChanged(path, (await readFile(path)).etag, 'disk')
    }
  } catch (error) {
    if (error instanceof ApiError && error.status === 412) {
      const etag = typeof error.body.etag === 'string' ? error.body.etag : ''
      dispatchBuffer(path, etag === '' ? { type: 'disk_deleted' } : { type: 'refused', etag })
    } else dispatchBuffer(path, { type: 'save_failed', reason: reasonOf(error) })
  } finally {
    heard.delete(path)
    // What was typed meanwhile.
    if (bufferOf(path)?.state.kind === 'dirty' && !bufferOf(path)?.problem) whenIdle(path, saveUnasked)
  }
}

/** The file on disk is not the one we know: clean text follows silently, typed text raises the question. */
export async function diskChanged(path: string, etag: string | null, by: Writer): Promise<void> {
  const buffer = bufferOf(path)
  if (!buffer) {
    if (useBuffers.getState().files[path]?.phase === 'failed') await open(path)
    return
  }
  if (etag === null) return dispatchBuffer(path, { type: 'disk_deleted' })
  if (sameEtag(etag, buffer.base.etag)) return
  if (buffer.state.kind === 'saving') {
    heard.set(path, etag)
    return
  }
  if (isDirty(buffer)) return dispatchBuffer(path, { type: 'disk_changed', etag, by })
  const before = buffer.base.content
  await loadDisk(path)
  if (by !== 'run' || useUi.getState().file !== path || bufferOf(path)?.base.content === before) return
  const run = () => {
    openFile(path)
    useBuffers.setState({ comparing: { path, disk: before } })
  }
  toast(t('changedByRun', { path }), { action: { label: t('review'), run } })
}

export async function loadDisk(path: string): Promise<void> {
  try {
    const file = await readFile(path)
    endComparison(path)
    dispatchBuffer(path, {
      type: 'disk_loaded',
      content: file.content,
      etag: file.etag,
      tokens: file.tokens ?? null,
    })
  } catch (error) {
    dispatchBuffer(
      path,
      isGone(error) ? { type: 'disk_deleted' } : { type: 'save_failed', reason: reasonOf(error) },
    )
  }
}

export async function keepMine(path: string): Promise<void> {
  dispatchBuffer(path, { type: 'kept_mine' })
  await save(path)
}

export async function compare(path: string): Promise<void> {
  try {
    const file = await readFile(path)
    const { etag } = file
    // Nobody may have told of that version yet.
    if (bufferOf(path)?.state.kind === 'dirty')
      dispatchBuffer(path, { type: 'disk_changed', etag, by: 'disk' })
    useBuffers.setState({ comparing: { path, disk: file.content } })
  } catch (error) {
    dispatchBuffer(path, { type: 'save_failed', reason: reasonOf(error) })
  }
}

export function endComparison(path: string): void {
  if (useBuffers.getState().comparing?.path === path) useBuffers.setState({ comparing: null })
}

export type Created = { kind: 'created' } | { kind: 'exists' } | { kind: 'failed'; reason: string }

export async function create(path: string, content: string): Promise<Created> {
  try {
    const saved = await writeFile(path, content, 'absent')
    putFile(path, { phase: 'open', buffer: openBuffer(path, content, saved.etag, saved.tokens ?? null) })
    refresh(keys.files)
    refresh(keys.skills)
    return { kind: 'created' }
  } catch (error) {
    const exists = error instanceof ApiError && error.status === 412
    return exists ? { kind: 'exists' } : { kind: 'failed', reason: reasonOf(error) }
  }
}

function listsChanged(path: string): void {
  refresh(keys.files)
  refresh(keys.tokens)
  if (traitsOf(path)?.trust) refresh(keys.skills)
}

/** The version that a person sees and means: what is open, or else what is on disk now. */
const versionOf = async (path: string): Promise<string> => {
  const known = bufferOf(path)?.base.etag
  return known ? known : (await readFile(path)).etag
}

/** Answers why it could not be done, or null. Typed text that is not saved goes along. */
export async function rename(path: string, to: string): Promise<string | null> {
  if (to === path) return null
  const buffer = bufferOf(path)
  try {
    const { etag } = await renameFile(path, to, buffer?.base.etag || null)
    if (buffer)
      putFile(to, { phase: 'open', buffer: { ...buffer, path: to, base: { ...buffer.base, etag } } })
    const wasOpen = useUi.getState().file === path
    endComparison(path)
    dropFile(path)
    listsChanged(path)
    if (wasOpen) openFile(to)
    return null
  } catch (error) {
    return reasonOf(error)
  }
}

export interface Trashed {
  path: string
  /** What brings it back. */
  trash: string
  wasOpen: boolean
}

/** Into the server's trash. Typed text that is not saved stays open. `listed`: the version that a list names, for a file
 *  that may be no text. */
export async function discard(path: string, listed?: string | null): Promise<Trashed> {
  const etag = listed === undefined ? await versionOf(path) : bufferOf(path)?.base.etag || listed
  const trash = await deleteFile(path, etag)
  const buffer = bufferOf(path)
  const wasOpen = useUi.getState().file === path
  if (!buffer || !isDirty(buffer)) {
    dropFile(path)
    if (wasOpen) useUi.setState({ file: null })
  }
  listsChanged(path)
  return { path, trash, wasOpen }
}

/** The toast brings it back. */
export async function remove(path: string): Promise<void> {
  try {
    const { trash, wasOpen } = await discard(path)
    const run = () => void bringBack(path, trash, wasOpen)
    toast(t('fileDeleted', { path }), { action: { label: t('undo'), run } })
  } catch (error) {
    toast(t('notDone', { reason: reasonOf(error) }), { tone: 'bad' })
  }
}

export async function bringBack(path: string, trash: string, show: boolean): Promise<void> {
  try {
    const { etag } = await restoreFile(trash)
    listsChanged(path)
    await diskChanged(path, etag, 'editor')
    if (show) openFile(path)
  } catch (error) {
    toast(t('notDone', { reason: reasonOf(error) }), { tone: 'bad' })
  }
}
