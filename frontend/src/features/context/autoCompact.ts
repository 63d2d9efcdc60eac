import type { Chosen } from '@/api/types'
import { choose } from '@/app/threads'
import { useLive } from '@/stores/live'
import { shownThread } from '@/thread/loaded'

export type AutoCompact = NonNullable<Chosen['auto_compact']>

/** Chooses what happens when this conversation nearly fills the context window. */
export const chooseAutoCompact = (session: string, mode: AutoCompact): Promise<void> => {
  const chosen = shownThread(useLive.getState().threads[session])?.chosen
  return choose(session, { ...chosen, auto_compact: mode })
}
