import { QueryClientProvider } from '@tanstack/react-query'
import { act, fireEvent, render, screen } from '@testing-library/react'
import { createRef, Profiler } from 'react'
import { afterEach, expect, it, vi } from 'vitest'
import { queryClient } from '@/api/queries'
import { PaneSplitter, SizedPane } from '@/app/SizedPane'
import { ChatPane } from '@/features/chat/ChatPane'
import Inspector from '@/features/inspector/Inspector'
import Sidebar from '@/features/sessions/Sidebar'
import { useUi } from '@/stores/ui'

afterEach(() => vi.unstubAllGlobals())

it('a splitter that is moved renders no pane again', async () => {
  vi.stubGlobal('fetch', () => new Promise(() => {}))
  let renders = 0
  const nothing = () => {}
  render(
    <QueryClientProvider client={queryClient}>
      <PaneSplitter of="left" direction={1} label="resize" controls="pane-left" onCollapse={nothing} />
      <SizedPane of="left" width="wide" className="sized">
        <Profiler id="panes" onRender={() => renders++}>
          <Sidebar sessionId={null} onNew={nothing} />
          <ChatPane
            sessionId={null}
            message={null}
            input={createRef()}
            width="wide"
            onLeft={nothing}
            onRight={nothing}
          />
          <Inspector onChunks={null} />
        </Profiler>
      </SizedPane>
    </QueryClientProvider>,
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
