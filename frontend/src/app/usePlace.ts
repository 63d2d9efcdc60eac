import { useEffect } from 'react'
import { useSessions } from '@/api/queries'
import { useHidden } from '@/lib/useMedia'
import { see } from '@/stores/seen'
import { useUi } from '@/stores/ui'
import { CHAT, type Place } from './pages'
import { ensureThread } from './threads'

/** Loads what the address names, and resets what belonged to the place before. */
export function usePlace({ page, route, sessionId, message }: Place, path: string): void {
  const sessions = useSessions().data
  const hidden = useHidden()
  useEffect(() => {
    if (sessions) see(sessions, hidden ? null : sessionId)
  }, [sessions, sessionId, hidden])
  // biome-ignore lint/correctness/useExhaustiveDependencies: another message of the same session resets nothing
  useEffect(() => {
    if (sessionId) ensureThread(sessionId)
    // A search in all conversations led here, and goes on in this one.
    const led = (ui: { findAt: string | null }) => message !== null && ui.findAt === message
    useUi.setState(ui => ({ view: 'chat', editing: null, ...(led(ui) ? {} : { find: null, findAt: null }) }))
  }, [sessionId])
  useEffect(() => {
    if (page !== CHAT) useUi.setState({ pane: 'chat', sheetOpen: false, beside: page.panels[0] })
    else if (route !== null) useUi.setState({ lastChat: path })
  }, [page, route, path])
}
