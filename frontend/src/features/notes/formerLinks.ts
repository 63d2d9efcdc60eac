/** Asks whether links in notes follow a file or folder of a project that was renamed. Nothing is written unasked. */
import { formerLinks, undoLinks, updateLinks } from '@/api/links'
import { refreshFiles } from '@/api/queries'
import type { UpdatedNoteFiles } from '@/api/types'
import { t } from '@/lib/i18n'
import '@/lib/later'
import { reasonOf } from '@/lib/reason'
import { FileRef, projectOf, type Root } from '@/lib/roots'
import { toast } from '@/stores/toasts'

/** Shows the question, if there are such links. */
export async function offerLinks(from: FileRef, to: FileRef): Promise<void> {
  const id = projectOf(from.root)
  if (id === null) return
  try {
    const { count, files } = await formerLinks(id, from.path, to.path)
    if (count === 0) return
    const run = () => void update(from, to)
    toast(t('linksAsk', { n: count, files }), { action: { label: t('linksUpdate'), run } })
  } catch {
    // The file has been renamed. A question that cannot be asked is no failure of that.
  }
}

async function update(from: FileRef, to: FileRef): Promise<void> {
  const [root, id] = [from.root, projectOf(from.root) ?? '']
  const done: UpdatedNoteFiles[] = []
  try {
    do done.push(await updateLinks(id, from.path, to.path))
    while (done.at(-1)?.more && done.at(-1)?.files.length)
  } catch (error) {
    toast(t('notDone', { reason: reasonOf(error) }), { tone: 'bad' })
  }
  const files = done.flatMap(part => part.files)
  if (files.length === 0) return
  refreshFiles(...files.map(({ path }) => FileRef.of(root, path)))
  const n = files.reduce((sum, { links }) => sum + links.length, 0)
  const run = () => void undo(root, done)
  toast(t('linksUpdated', { n, files: files.length }), { action: { label: t('undo'), run } })
}

async function undo(root: Root, done: readonly UpdatedNoteFiles[]): Promise<void> {
  try {
    for (const part of done) await undoLinks(projectOf(root) ?? '', part)
    refreshFiles(...done.flatMap(part => part.files.map(({ path }) => FileRef.of(root, path))))
  } catch (error) {
    toast(t('notDone', { reason: reasonOf(error) }), { tone: 'bad' })
  }
}
