import { useCallback, useEffect, useRef } from 'react'
import { useLocation, useRoute } from 'wouter'
import { useShallow } from 'zustand/react/shallow'
import { useApprovals, useSessions } from '@/api/queries'
import { Guard } from '@/components/Guard'
import { onDemand } from '@/components/onDemand'
import { Sheet } from '@/components/ui/Sheet'
import { Skeleton } from '@/components/ui/Skeleton'
import { Toasts } from '@/components/ui/Toasts'
import { ChatPane as Chat } from '@/features/chat/ChatPane'
import { PLAYGROUND } from '@/features/retrieval/address'
import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'
import { useHidden, useWidth } from '@/lib/useMedia'
import { see } from '@/stores/seen'
import { useUi } from '@/stores/ui'
import { BottomBar } from './BottomBar'
import { Dialogs } from './Dialogs'
import { SafetyBanners } from './SafetyBanners'
import { PaneSplitter, SizedPane } from './SizedPane'
import { StatusRegion } from './StatusRegion'
import { ensureThread } from './threads'
import { useFileAddress } from './useFileAddress'
import { useShortcuts } from './useShortcuts'

const Inspector = onDemand(() => import('@/features/inspector/Inspector'), PanePending)
// It is there already, and yet made in a task of its own: all three panes in one go would be too long.
const ChatPane = onDemand(async () => ({ default: Chat }), PanePending)
const Sidebar = onDemand(() => import('@/features/sessions/Sidebar'), PanePending)
const Palette = onDemand(() => import('@/features/palette/Palette'))
const Playground = onDemand(() => import('@/features/playground/Playground'), PanePending)
const ChunkPane = onDemand(() => import('@/features/playground/ChunkPane'), PanePending)

export function Shell() {
  const t = useT()
  // Not the widths: a splitter that is dragged changes them at each pixel.
  const ui = useUi(useShallow(({ left, right, chunks, ...rest }) => rest))
  const width = useWidth()
  const [path, navigate] = useLocation()
  const playing = path === PLAYGROUND
  const [, params] = useRoute<{ id: string }>('/s/:id')
  const [, place] = useRoute<{ id: string; message: string }>('/s/:id/m/:message')
  const sessionId = params?.id ?? place?.id ?? null
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
    useUi.getState().set({ view: 'chat', find: null, editing: null })
  }, [sessionId])
  useEffect(() => {
    const { set } = useUi.getState()
    set(
      playing
        ? { pane: 'chat', sheetOpen: false, beside: 'chunks' }
        : path.startsWith('/f/')
          ? {}
          : { lastChat: path },
    )
  }, [playing, path])
  const heading = playing ? t('playground') : title
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
  const side = playing ? 'chunks' : 'right'
  const beside =
    playing && ui.beside === 'chunks' ? (
      <ChunkPane />
    ) : (
      <Inspector onChunks={playing ? () => ui.set({ beside: 'chunks' }) : null} />
    )
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
              <Guard>
                <Sidebar sessionId={sessionId} onNew={newChat} />
              </Guard>
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
            <div className={cn('flex-1', playing && width === 'wide' ? 'min-w-[420px]' : 'min-w-0')}>
              <Guard of={playing ? PLAYGROUND : sessionId}>
                {playing ? (
                  <Playground width={width} onLeft={toggleSessions} onRight={toggleInspector} />
                ) : (
                  <ChatPane
                    sessionId={sessionId}
                    message={place?.message ?? null}
                    input={input}
                    width={width}
                    onLeft={toggleSessions}
                    onRight={toggleInspector}
                  />
                )}
              </Guard>
            </div>
          )}
          {showRight && !narrow && (
            <PaneSplitter
              of={side}
              direction={-1}
              label={t('resizeInspector')}
              controls="pane-right"
              onCollapse={toggleInspector}
            />
          )}
          {showRight && (
            <SizedPane
              of={side}
              width={width}
              className={cn('max-md:w-full', playing && width === 'wide' ? 'min-w-[300px]' : 'shrink-0')}
            >
              <Guard>{beside}</Guard>
            </SizedPane>
          )}
        </main>
        {narrow && <BottomBar pane={ui.pane} playing={playing} onPane={pane => ui.set({ pane })} />}
      </div>
      <Sheet
        open={width === 'medium' && ui.sheetOpen}
        onOpenChange={sheetOpen => ui.set({ sheetOpen })}
        title={t(playing && ui.beside === 'chunks' ? 'chunkPane' : 'inspector')}
      >
        <Guard>{beside}</Guard>
      </Sheet>
      <Guard of={ui.dialog}>
        <Dialogs sessionId={sessionId} />
      </Guard>
      {(ui.dialog === 'palette' || ui.dialog === 'files') && (
        <Palette only={ui.dialog === 'files' ? 'files' : null} context={context} />
      )}
      <Toasts />
      <StatusRegion />
    </>
  )
}

/** The place of a pane whose code is on its way. */
function PanePending() {
  const t = useT()
  return (
    <div className="pane h-full rounded-xl max-md:rounded-none max-md:border-0">
      <Skeleton label={t('loading')} rows={4} />
    </div>
  )
}
