import { useEffect } from 'react'
import { useApprovals, useSessions } from '@/api/queries'
import { useSignedOut } from '@/api/signedOut'
import { useT } from '@/lib/i18n'
import type { Place } from './pages'

/**
 * Names the window after the page or the conversation, and marks it while a call waits for an answer. It says nothing
 * about the person while the sign-in covers the page.
 */
export function useWindowTitle({ page, sessionId }: Place): void {
  const t = useT()
  const session = useSessions().data?.find(({ id }) => id === sessionId)
  const heading = page.title ? t(page.title) : session?.title
  const asked = (useApprovals().data?.length ?? 0) > 0
  const title = `${asked ? '(!) ' : ''}${heading ? `${heading} · miniclaw` : 'miniclaw'}`
  const shown = useSignedOut() ? 'miniclaw' : title
  useEffect(() => {
    document.title = shown
  }, [shown])
}
