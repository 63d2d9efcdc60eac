import { act, fireEvent, render, renderHook, screen, waitFor } from '@testing-library/react'
import { type ComponentType, createRef, Profiler, type ReactNode } from 'react'
import { afterEach, expect, it, vi } from 'vitest'
import { Shell } from '@/app/Shell'
import { useCarryOver } from '@/app/useCarryOver'
import { ChatPane } from '@/features/chat/ChatPane'
import Inspector from '@/features/inspector/Inspector'
import Playground from '@/features/playground/Playground'
import { stored } from '@/lib/storage'
import type { Width } from '@/lib/useMedia'
import { useUi } from '@/stores/ui'
import { Page } from '../commands'

/** The panes in which something was rendered, each time. */
const { paneRenders, counting } = vi.hoisted(() => {
  const paneRenders: string[] = []
  const counting =
    <Props extends object>(id: string, Pane: ComponentType<Props>) =>
    (props: Props) => (
      <Profiler id={id} onRender={() => paneRenders.push(id)}>
        <Pane {...props} />
      </Profiler>
    )
  return { paneRenders, counting }
})
vi.mock('@/features/sessions/Sidebar', async original => {
  const real = await original<typeof import('@/features/sessions/Sidebar')>()
  return { default: counting('sidebar', real.default) }
})
vi.mock('@/features/chat/ChatPane', async original => {
  const real = await original<typeof import('@/features/chat/ChatPane')>()
  return { ChatPane: counting('chat', real.ChatPane) }
})
vi.mock('@/features/inspector/Inspector', async original => {
  const real = await original<typeof import('@/features/inspector/Inspector')>()
  return { default: counting('inspector', real.default) }
})

afterEach(() => vi.unstubAllGlobals())

it('a change that a pane does not show does not re-render it', async () => {
  vi.stubGlobal('fetch', () => new Promise(() => {}))
  const rendered: string[] = []
  const counted = (id: string, pane: ReactNode) => (
    <Profiler id={id} onRender={() => rendered.push(id)}>
      {pane}
    </Profiler>
  )
  const props = {
    sessionId: null,
    message: null,
    input: createRef<HTMLTextAreaElement>(),
    width: 'wide' as const,
  }
  render(
    <Page>
      {counted('chat', <ChatPane {...props} />)}
      {counted('playground', <Playground width="wide" />)}
      {counted('files', <Inspector back={null} />)}
    </Page>,
  )
  await act(async () => {})
  expect(new Set(rendered)).toEqual(new Set(['chat', 'playground', 'files']))
  const after = (patch: Partial<ReturnType<typeof useUi.getState>>) => {
    rendered.length = 0
    act(() => useUi.setState(patch))
    return [...rendered]
  }
  expect(after({ dialog: { name: 'settings' } })).toEqual([])
  expect(after({ pane: 'left', lastChat: '/s/a', dialog: { name: 'undo', work: 'w' } })).toEqual([])
  expect(after({ tab: 'workspace' })).toEqual(['files'])
  expect(after({ editing: 'm1' })).toEqual(['chat'])
  expect(after({ rightOpen: false }).sort()).toEqual(['chat', 'playground'])
  act(() => useUi.setState({ dialog: null, pane: 'chat', lastChat: '/' }))
  act(() => useUi.setState({ editing: null, rightOpen: true, tab: 'memory' }))
})

/** happy-dom evaluates media queries against this width. */
const setWidth = (width: number) =>
  (
    window as unknown as { happyDOM: { setViewport: (size: { width: number }) => void } }
  ).happyDOM.setViewport({
    width,
  })

it('moving a splitter re-renders no pane of the page, and its place is stored', async () => {
  vi.stubGlobal('fetch', () => new Promise(() => {}))
  setWidth(1200)
  render(
    <Page>
      <Shell />
    </Page>,
  )
  await waitFor(() => expect(new Set(paneRenders)).toEqual(new Set(['sidebar', 'chat', 'inspector'])))
  const after = (act: () => void) => {
    paneRenders.length = 0
    act()
    return new Set(paneRenders)
  }
  const separators = screen.getAllByRole('separator')
  const { left, right } = useUi.getState()
  expect(after(() => separators.map(one => fireEvent.keyDown(one, { key: 'ArrowRight' })))).toEqual(new Set())
  expect(useUi.getState()).toMatchObject({ left: left + 16, right: right - 16 })
  expect([stored('left'), stored('right')]).toEqual([`${left + 16}`, `${right - 16}`])
  for (const width of [left + 16, right - 16])
    expect(document.querySelectorAll(`[style*="width: ${width}px"]`)).toHaveLength(1)
  // What the shell itself subscribes to renders it, and its panes are seen to.
  expect(after(() => act(() => useUi.setState({ solid: true })))).toEqual(
    new Set(['sidebar', 'chat', 'inspector']),
  )
  act(() => useUi.setState({ solid: false, left, right }))
})

it('carries the inspector over when the width changes, and lets nothing cover the chat unasked', async () => {
  vi.stubGlobal('fetch', () => new Promise(() => {}))
  const { rerender } = renderHook(useCarryOver, { initialProps: 'wide' as Width })
  const after = (width: Width, patch: Partial<ReturnType<typeof useUi.getState>>) => {
    useUi.setState(patch)
    rerender(width)
    const { sheetOpen, pane, rightOpen } = useUi.getState()
    return { sheetOpen, pane, rightOpen }
  }
  // A file was opened beside the chat.
  const beside = { sheetOpen: true, pane: 'right', rightOpen: true } as const
  expect(after('medium', beside)).toMatchObject({ sheetOpen: false })
  expect(after('narrow', { sheetOpen: true })).toMatchObject({ pane: 'right' })
  expect(after('medium', { pane: 'right', sheetOpen: false })).toMatchObject({ sheetOpen: true })
  expect(after('wide', { rightOpen: false })).toMatchObject({ sheetOpen: false, rightOpen: true })
  expect(after('narrow', beside)).toMatchObject({ pane: 'chat' })
  useUi.setState({ sheetOpen: false, pane: 'chat', rightOpen: true })
})
