import { lazy, Suspense, useEffect, useRef } from 'react'
import { useLocation, useRoute } from 'wouter'
import { useSessions } from '@/api/queries'
import { Sheet } from '@/components/ui/Sheet'
import { Splitter } from '@/components/ui/Splitter'
import { Toasts } from '@/components/ui/Toasts'
import { ChatPane } from '@/features/chat/ChatPane'
import { Inspector } from '@/features/inspector/Inspector'
import { Sidebar } from '@/features/sessions/Sidebar'
import { useT } from '@/lib/i18n'
import { useWidth } from '@/lib/useMedia'
import { LEFT, RIGHT, useUi } from '@/stores/ui'
import { BottomBar } from './BottomBar'
import { Dialogs } from './Dialogs'
import { StatusRegion } from './StatusRegion'
import { ensureThread } from './threads'
import { useCommands } from './useCommands'
import { useShortcuts } from './useShortcuts'

const Palette = lazy(() => import('@/features/palette/Palette'))

export function Shell() {
  const t = useT()
  const ui = useUi()
  const width = useWidth()
  const [, navigate] = useLocation()
  const [, params] = useRoute<{ id: string }>('/s/:id')
  const sessionId = params?.id ?? null
  const input = useRef<HTMLTextAreaElement>(null)
  const commands = useCommands({ sessionId, width, input })
  useShortcuts(commands)

  const title = useSessions().data?.find(session => session.id === sessionId)?.title
  useEffect(() => {
    if (sessionId) ensureThread(sessionId)
    useUi.getState().set({ view: 'chat' })
  }, [sessionId])
  useEffect(() => {
    document.title = title ? `${title} · miniclaw` : 'miniclaw'
  }, [title])

  const narrow = width === 'narrow'
  const showLeft = narrow ? ui.pane === 'left' : ui.leftOpen
  const showChat = !narrow || ui.pane === 'chat'
  const showRight = narrow ? ui.pane === 'right' : width === 'wide' && ui.rightOpen
  return (
    <>
      <div className="flex h-full flex-col p-2 max-md:p-0 max-md:safe-top">
        <main className="flex min-h-0 flex-1 md:max-lg:gap-2">
          <h1 className="sr-only">miniclaw</h1>
          <a
            href="/"
            onClick={event => {
              event.preventDefault()
              commands.focusComposer()
            }}
            className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:m-2 focus:rounded-md focus:bg-card focus:p-2"
          >
            {t('skipToChat')}
          </a>
          {showLeft && (
            <div
              className="shrink-0 max-md:w-full md:max-lg:w-60"
              style={width === 'wide' ? { width: ui.left } : undefined}
            >
              <Sidebar sessionId={sessionId} onNew={commands.newChat} />
            </div>
          )}
          {showLeft && width === 'wide' && (
            <Splitter
              value={ui.left}
              {...LEFT}
              direction={1}
              label={t('resizeSessions')}
              controls="pane-left"
              onChange={left => ui.set({ left })}
              onCollapse={commands.toggleSessions}
            />
          )}
          {showChat && (
            <div className="min-w-0 flex-1">
              <ChatPane
                sessionId={sessionId}
                input={input}
                width={width}
                onLeft={commands.toggleSessions}
                onRight={commands.toggleInspector}
              />
            </div>
          )}
          {showRight && !narrow && (
            <Splitter
              value={ui.right}
              {...RIGHT}
              direction={-1}
              label={t('resizeInspector')}
              controls="pane-right"
              onChange={right => ui.set({ right })}
              onCollapse={commands.toggleInspector}
            />
          )}
          {showRight && (
            <div
              className="shrink-0 max-md:w-full"
              style={width === 'wide' ? { width: ui.right } : undefined}
            >
              <Inspector />
            </div>
          )}
        </main>
        {narrow && <BottomBar pane={ui.pane} onPane={pane => ui.set({ pane })} />}
      </div>
      <Sheet
        open={width === 'medium' && ui.sheetOpen}
        onOpenChange={sheetOpen => ui.set({ sheetOpen })}
        title={t('inspector')}
      >
        <Inspector />
      </Sheet>
      <Dialogs sessionId={sessionId} />
      {ui.dialog === 'palette' && (
        <Suspense>
          <Palette commands={commands} onOpenSession={id => navigate(`/s/${id}`)} />
        </Suspense>
      )}
      <Toasts />
      <StatusRegion />
    </>
  )
}
