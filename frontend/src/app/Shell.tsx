import { useCallback, useEffect, useMemo, useRef } from 'react'
import { useLocation, useRouter } from 'wouter'
import { useShallow } from 'zustand/react/shallow'
import { useApprovals, useSessions } from '@/api/queries'
import { ErrorBoundary } from '@/components/ErrorBoundary'
import { onDemand } from '@/components/onDemand'
import { PanePending } from '@/components/PanePending'
import { Sheet } from '@/components/ui/Sheet'
import { Toasts } from '@/components/ui/Toasts'
import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'
import { useHidden, useWidth } from '@/lib/useMedia'
import { see } from '@/stores/seen'
import { useUi } from '@/stores/ui'
import { BottomBar } from './BottomBar'
import { Dialogs } from './Dialogs'
import { CHAT, placeAt } from './pages'
import { RightPanel, useRightPanel } from './RightPanel'
import { SafetyBanners } from './SafetyBanners'
import { PaneSplitter, SizedPane } from './SizedPane'
import { StatusRegion } from './StatusRegion'
import { ensureThread } from './threads'
import { useFileAddress } from './useFileAddress'
import { useShortcuts } from './useShortcuts'

const Sidebar = onDemand(() => import('@/features/sessions/Sidebar'), PanePending)

/** CSS classes that divide the width between the middle and the right pane. */
const SHARES = { middle: 'min-w-0', side: 'shrink-0' }

export function Shell() {
  const t = useT()
  const { set, ...ui } = useUi(
    useShallow(({ set, pane, leftOpen, rightOpen, sheetOpen, solid }) => ({
      ...{ set, pane, leftOpen, rightOpen, sheetOpen, solid },
    })),
  )
  const width = useWidth()
  const [path, navigate] = useLocation()
  const { parser } = useRouter()
  const { page, route, sessionId, message } = useMemo(() => placeAt(path, parser), [path, parser])
  const panel = useRightPanel(page)
  const input = useRef<HTMLTextAreaElement>(null)
  const context = { sessionId, width, input, navigate }
  const run = useShortcuts(context)
  const newChat = useCallback(() => run('newChat'), [run])
  const toggleSessions = useCallback(() => run('toggleSessions'), [run])
  const toggleInspector = useCallback(() => run('toggleInspector'), [run])
  useFileAddress()

  const sessions = useSessions().data
  const title = sessions?.find(session => session.id === sessionId)?.title
  const hidden = useHidden()
  useEffect(() => {
    if (sessions) see(sessions, hidden ? null : sessionId)
  }, [sessions, sessionId, hidden])
  useEffect(() => {
    if (sessionId) ensureThread(sessionId)
    useUi.setState({ view: 'chat', find: null, editing: null })
  }, [sessionId])
  useEffect(() => {
    if (page !== CHAT) useUi.setState({ pane: 'chat', sheetOpen: false, beside: page.panels[0] })
    else if (route !== null) useUi.setState({ lastChat: path })
  }, [page, route, path])
  const heading = page.title ? t(page.title) : title
  const asked = (useApprovals().data?.length ?? 0) > 0
  useEffect(() => {
    document.title = `${asked ? '(!) ' : ''}${heading ? `${heading} · miniclaw` : 'miniclaw'}`
  }, [heading, asked])

  useEffect(() => {
    document.documentElement.toggleAttribute('data-solid', ui.solid)
  }, [ui.solid])

  const narrow = width === 'narrow'
  const showLeft = narrow ? ui.pane === 'left' : ui.leftOpen
  const showChat = !narrow || ui.pane === 'chat'
  const showRight = narrow ? ui.pane === 'right' : width === 'wide' && ui.rightOpen
  const { middle, side } = (width === 'wide' ? page.wide : undefined) ?? SHARES
  return (
    <>
      <div className="flex h-full flex-col p-2 max-md:p-0 max-md:safe-top">
        <SafetyBanners />
        <main className="flex min-h-0 flex-1 md:max-lg:gap-2">
          <h1 className="sr-only">miniclaw</h1>
          <a
            href="/"
            onClick={event => {
              event.preventDefault()
              run('focusComposer')
            }}
            className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:m-2 focus:rounded-md focus:bg-card focus:p-2"
          >
            {t('skipToChat')}
          </a>
          {showLeft && (
            <SizedPane of="left" width={width} className="shrink-0 max-md:w-full md:max-lg:w-60">
              <ErrorBoundary>
                <Sidebar sessionId={sessionId} onNew={newChat} />
              </ErrorBoundary>
            </SizedPane>
          )}
          {showLeft && width === 'wide' && (
            <PaneSplitter
              of="left"
              direction={1}
              label={t('resizeSessions')}
              controls="pane-left"
              onCollapse={toggleSessions}
            />
          )}
          {showChat && (
            <div className={cn('flex-1', middle)}>
              <ErrorBoundary resetKey={`${page.id} ${sessionId}`}>
                <page.Page
                  sessionId={sessionId}
                  message={message}
                  input={input}
                  width={width}
                  onLeft={toggleSessions}
                  onRight={toggleInspector}
                />
              </ErrorBoundary>
            </div>
          )}
          {showRight && !narrow && (
            <PaneSplitter
              of={page.side}
              direction={-1}
              label={t('resizeInspector')}
              controls="pane-right"
              onCollapse={toggleInspector}
            />
          )}
          {showRight && (
            <SizedPane of={page.side} width={width} className={cn('max-md:w-full', side)}>
              <RightPanel {...panel} />
            </SizedPane>
          )}
        </main>
        {narrow && <BottomBar pane={ui.pane} page={page} onPane={pane => set({ pane })} />}
      </div>
      <Sheet
        open={width === 'medium' && ui.sheetOpen}
        onOpenChange={sheetOpen => set({ sheetOpen })}
        title={t(panel.title)}
      >
        <RightPanel {...panel} />
      </Sheet>
      <Dialogs context={context} />
      <Toasts />
      <StatusRegion />
    </>
  )
}
