import { signInByCode } from '@/api/endpoints'

/** The code of a one-time link: what stands behind `#code=`, and nothing else in the address counts. */
export const codeOf = (hash: string): string | null => /^#code=([\w-]+)$/.exec(hash)?.[1] ?? null

/**
 * Signs in with the code of a one-time link, if this page was opened by one. The code leaves the address before anything
 * else happens, so that it is in no history and no bookmark. One that is too old leads to the usual question.
 */
export async function followLink(): Promise<void> {
  const code = codeOf(location.hash)
  if (!code) return
  history.replaceState(null, '', location.pathname + location.search)
  await signInByCode(code).catch(() => undefined)
}
