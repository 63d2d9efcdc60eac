import { type RefObject, useCallback, useEffect } from 'react'
import { useShallow } from 'zustand/react/shallow'
import { ErrorBoundary } from '@/components/ErrorBoundary'
import { onDemand } from '@/components/onDemand'
import { INSPECTOR_TOGGLE } from '@/components/PaneHeader'
import { PanePending } from '@/components/PanePending'
import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'
import { useMedia, type Width } from '@/lib/useMedia'
import { useTour } from '@/stores/tour'
import { useUi } from '@/stores/ui'
import { BottomBar } from './BottomBar'
import type { Place } from './pages'
import { RightPanel, useRightPanel } from './RightPanel'
import { SafetyBanners } from './SafetyBanners'
import { PaneSplitter, SizedPane } from './SizedPane'
import { useCarryOver } from './useCarryOver'
import { useRun } from './useCommand'

const Sheet = onDemand(() => import('@/components/ui/Sheet'))
const Tour = onDemand(() => import('@/features/tour/Tour'))
const Sidebar = onDemand(() => import('@/features/sessions/Sidebar'), PanePending)

/** CSS classes that divide the width between the middle and the right pane. */
const SHARES = { middle: 'min-w-0', side: 'shrink-0' }

interface Props {
  place: Place
  width: Width
  /** The composer's text field. */
  input: RefObject<HTMLTextAreaElement | null>
}

/** The sessions, the page that the address names, and the panel beside it, as far as the width allows. */
export function Panes({ place: { page, sessionId, message }, width, input }: Props) {
  const t = useT()
  const { set, ...ui } = useUi(
    useShallow(({ set, pane, leftOpen, rightOpen, sheetOpen, solid }) => ({
      ...{ set, pane, leftOpen, rightOpen, sheetOpen, solid },
    })),
  )
  const touring = useTour(tour => tour.step !== null)
  const run = useRun()
  const panel = useRightPanel(page)
  const toggleSessions = useCallback(() => run('toggleSessions'), [run])
  const toggleInspector = useCallback(() => run('toggleInspector'), [run])
  useEffect(() => {
    document.documentElement.toggleAttribute('data-solid', ui.solid)
  }, [ui.solid])

  useCarryOver(width)

  const narrow = width === 'narrow'
  // The breakpoint `lg`: below it the left pane has a fixed width.
  const split = useMedia('(min-width: 1024px)')
  const showLeft = narrow ? ui.pane === 'left' : ui.leftOpen
  const showChat = !narrow || ui.pane === 'chat'
  const showRight = narrow ? ui.pane === 'right' : width === 'wide' && ui.rightOpen
  const { middle, side } = (width === 'wide' ? page.wide : undefined) ?? SHARES
  return (
    <>
      <div className="flex h-full flex-col p-2 max-md:p-0 max-md:safe-top">
        <SafetyBanners />
        {touring && <Tour />}
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
            <SizedPane of="left" sized={split} className="shrink-0 max-md:w-full md:max-lg:w-60">
              <ErrorBoundary>
                <Sidebar sessionId={sessionId} />
              </ErrorBoundary>
            </SizedPane>
          )}
          {showLeft && split && (
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
                <page.Page sessionId={sessionId} message={message} input={input} width={width} />
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
            <SizedPane of={page.side} sized={!narrow} className={cn('max-md:w-full', side)}>
              <RightPanel {...panel} />
            </SizedPane>
          )}
        </main>
        {narrow && <BottomBar pane={ui.pane} page={page} onPane={pane => set({ pane })} />}
      </div>
      {width === 'medium' && (
        <Sheet
          open={ui.sheetOpen}
          onOpenChange={sheetOpen => set({ sheetOpen })}
          title={t(panel.title)}
          modal={!touring}
          opener={() => document.getElementById(INSPECTOR_TOGGLE)}
        >
          <RightPanel {...panel} />
        </Sheet>
      )}
    </>
  )
}
