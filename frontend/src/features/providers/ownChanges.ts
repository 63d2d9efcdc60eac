/** Changes of a person's own providers: each answers with the new state, which replaces the cached one. */
import { ownProvidersKey } from '@/api/ownProviders'
import { keys, queryClient, refreshEach } from '@/api/queries'
import type { OwnProviders } from '@/api/types'
import { reasonOf } from '@/lib/reason'
import { toast } from '@/stores/toasts'

/** Keeps what a change has answered, which other parts of the page show too. */
export function keepOwn(providers: OwnProviders): void {
  queryClient.setQueryData<OwnProviders>(ownProvidersKey, providers)
  refreshEach([keys.models, keys.status, keys.tokens])
}

/** Runs a change; a refusal is shown as a toast. Returns whether it was made. */
export async function changeOwn(change: Promise<OwnProviders>): Promise<boolean> {
  try {
    keepOwn(await change)
    return true
  } catch (error) {
    toast(reasonOf(error), { tone: 'bad' })
    return false
  }
}
