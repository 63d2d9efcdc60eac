/** A person's actions in a repository. They resolve to null on success, else to the reason. */
import * as api from '@/api/git'
import { gitKey } from '@/api/git'
import { keys, refresh } from '@/api/queries'
import { t } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'
import { toast } from '@/stores/toasts'

/** Does something in the repository, and reads its state again in any case. */
export async function act(id: string, action: () => Promise<unknown>): Promise<string | null> {
  try {
    await action()
    return null
  } catch (error) {
    return reasonOf(error)
  } finally {
    refresh(gitKey(id))
  }
}

/** For actions whose files change. */
const filesToo = async (id: string, action: () => Promise<unknown>): Promise<string | null> => {
  const problem = await act(id, action)
  for (const key of [keys.files, keys.texts]) refresh(key)
  return problem
}

export const switchTo = (id: string, name: string) => filesToo(id, () => api.switchTo(id, name))

/** Discards the changes of files, with a toast that brings them back. */
export const discard = (id: string, paths: readonly string[]) =>
  filesToo(id, async () => {
    const files = await api.discard(id, paths)
    const run = async () => {
      const problem = await filesToo(id, () => api.undoDiscard(id, files))
      if (problem) toast(t('notDone', { reason: problem }), { tone: 'bad' })
    }
    const [first] = paths
    const words =
      paths.length === 1 && first
        ? t('gitDiscarded', { path: first })
        : t('gitDiscardedMany', { n: paths.length })
    toast(words, { action: { label: t('undo'), run: () => void run() } })
  })
