/** Changes of a person's own providers: each answers with the new state, which replaces the cached one. */
import { ApiError } from '@/api/client'
import { ownProvidersKey } from '@/api/ownProviders'
import { keys, queryClient, refreshEach } from '@/api/queries'
import type { OwnProvider, OwnProviders } from '@/api/types'
import { say, t } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'
import { failureIn } from '@/lib/server'
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
    toast(ownReason(error), { tone: 'bad' })
    return false
  }
}

/** What a person can do about an address that the server may not reach for them. */
const refusedAddress = (code: string, about: unknown): string | null => {
  if (code !== 'unreachable' || typeof about !== 'object' || about === null) return null
  return 'trouble' in about && about.trouble === 'bad_address' ? t('ownAddressRefused') : null
}

/** Why a change was refused. */
export const ownReason = (error: unknown): string =>
  (error instanceof ApiError && refusedAddress(error.code, error.body.about)) || reasonOf(error)

/** Why a provider did not answer when it was asked last. */
export const ownProblem = ({ code, params, message }: NonNullable<OwnProvider['detail']>): string =>
  refusedAddress(code, params) ?? failureIn(say, code, { ...params, message }) ?? message

/** Shows why a form was refused, although it may be below the edge of the dialog. A stable function: it runs once. */
export const bringIntoView = (element: HTMLElement | null): void =>
  element?.scrollIntoView({ block: 'nearest' })
