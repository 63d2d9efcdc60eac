import { useEffect } from 'react'
import { useApprovals, useSessions } from '@/api/queries'
import { useT } from '@/lib/i18n'
import type { Place } from './pages'

/** Names the window after the page or the conversation, and marks it while a call waits for an answer. */
export function useWindowTitle({ page, sessionId }: Place): void {
  const t = useT()
  const session = useSessions().data?.find(({ id }) => id === sessionId)
  const heading = page.title ? t(page.title) : session?.title
  const asked = (useApprovals().data?.length ?? 0) > 0
  useEffect(() => {
    document.title = `${asked ? '(!) ' : ''}${heading ? `${heading} · miniclaw` : 'miniclaw'}`
  }, [heading, asked])
}
