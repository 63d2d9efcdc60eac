import { act, fireEvent, render, screen } from '@testing-library/react'
import { createRef, Profiler, type ReactNode } from 'react'
import { afterEach, expect, it, vi } from 'vitest'
import { PaneSplitter, SizedPane } from '@/app/SizedPane'
import { ChatPane } from '@/features/chat/ChatPane'
import Inspector from '@/features/inspector/Inspector'
import Playground from '@/features/playground/Playground'
import Sidebar from '@/features/sessions/Sidebar'
import { useUi } from '@/stores/ui'
import { Page } from '../commands'

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
  expect(after({ dialog: 'settings' })).toEqual([])
  expect(after({ pane: 'left', lastChat: '/s/a', xrayOf: 'w', undoOf: 'w' })).toEqual([])
  expect(after({ tab: 'workspace' })).toEqual(['files'])
  expect(after({ editing: 'm1' })).toEqual(['chat'])
  expect(after({ rightOpen: false }).sort()).toEqual(['chat', 'playground'])
  act(() => useUi.setState({ dialog: null, pane: 'chat', lastChat: '/', xrayOf: null, undoOf: null }))
  act(() => useUi.setState({ editing: null, rightOpen: true, tab: 'memory' }))
})

it('moving a splitter re-renders no pane', async () => {
  vi.stubGlobal('fetch', () => new Promise(() => {}))
  let renders = 0
  const nothing = () => {}
  render(
    <Page>
      <PaneSplitter of="left" direction={1} label="resize" controls="pane-left" onCollapse={nothing} />
      <SizedPane of="left" width="wide" className="sized">
        <Profiler id="panes" onRender={() => renders++}>
          <Sidebar sessionId={null} />
          <ChatPane sessionId={null} message={null} input={createRef()} width="wide" />
          <Inspector back={null} />
        </Profiler>
      </SizedPane>
    </Page>,
  )
  await act(async () => {})
  expect(renders).toBeGreaterThan(0)
  const before = renders
  const { left } = useUi.getState()
  fireEvent.keyDown(screen.getByRole('separator'), { key: 'ArrowRight' })
  expect(useUi.getState().left).toBe(left + 16)
  expect(document.querySelector<HTMLElement>('.sized')?.style.width).toBe(`${left + 16}px`)
  expect(renders).toBe(before)
  act(() => useUi.setState({ view: 'raw' }))
  expect(renders).toBeGreaterThan(before)
  act(() => useUi.setState({ view: 'chat' }))
})
