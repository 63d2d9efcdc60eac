/** A person's actions in a repository. They resolve to null on success, else to the reason. */
import * as api from '@/api/git'
import { gitKey } from '@/api/git'
import { keys, refresh } from '@/api/queries'
import { reasonOf } from '@/lib/reason'

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

/** Discards the changes of files; `discarded` receives what brings them back. */
export const discard = (
  id: string,
  paths: readonly string[],
  discarded: (files: api.DiscardedFile[]) => void,
): Promise<string | null> => filesToo(id, async () => discarded(await api.discard(id, paths)))

export const undoDiscard = (id: string, files: readonly api.DiscardedFile[]): Promise<string | null> =>
  filesToo(id, () => api.undoDiscard(id, files))
