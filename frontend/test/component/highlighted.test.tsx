import { act, render } from '@testing-library/react'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { CodeBlock } from '@/components/markdown/CodeBlock'

let look: (seen: boolean) => void = () => undefined
let observed = 0

beforeEach(() => {
  observed = 0
  class Watching {
    constructor(callback: (entries: { isIntersecting: boolean }[]) => void) {
      look = seen => callback([{ isIntersecting: seen }])
    }
    observe = () => {
      observed += 1
    }
    disconnect() {}
  }
  vi.stubGlobal('IntersectionObserver', Watching)
})
afterEach(() => vi.unstubAllGlobals())

const colored = (box: HTMLElement) => box.querySelectorAll('code span').length

it('code is highlighted once it is complete and near the screen', async () => {
  const block = (live: boolean) => <CodeBlock code={'const one = "1"\n'} language="js" live={live} />
  const { container, rerender } = render(block(true))
  expect(observed, 'while it streams').toBe(0)
  rerender(block(false))
  expect(observed).toBe(1)
  act(() => look(false))
  expect(colored(container), 'far from the screen').toBe(0)
  act(() => look(true))
  await vi.waitFor(() => expect(colored(container)).toBeGreaterThan(1))
  expect(container.querySelector('code')?.textContent).toBe('const one = "1"\n')
})
