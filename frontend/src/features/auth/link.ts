import { signInByCode } from '@/api/endpoints'

/** The code of a one-time link, from a fragment that is exactly `#code=…`; null for any other. */
export const codeOf = (hash: string): string | null => /^#code=([\w-]+)$/.exec(hash)?.[1] ?? null

/**
 * Signs in with the code if the page was opened by a one-time link. Removes the code from the address first, so that
 * no history and no bookmark contains it. An expired code leads to the usual sign-in.
 */
export async function followLink(): Promise<void> {
  const code = codeOf(location.hash)
  if (!code) return
  history.replaceState(null, '', location.pathname + location.search)
  await signInByCode(code).catch(() => undefined)
}
