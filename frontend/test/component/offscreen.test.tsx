import { act, render } from '@testing-library/react'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { Markdown } from '@/components/markdown/Markdown'

type Look = (entries: Partial<IntersectionObserverEntry>[]) => void
let look: Look = () => undefined
let observed: Element[] = []

beforeEach(() => {
  observed = []
  class Watching {
    constructor(callback: Look) {
      look = callback
    }
    observe = (element: Element) => void observed.push(element)
    unobserve = (element: Element) => void observed.splice(observed.indexOf(element), 1)
    disconnect() {}
  }
  vi.stubGlobal('IntersectionObserver', Watching)
})
afterEach(() => vi.unstubAllGlobals())

const paragraphs = (count: number) => Array.from({ length: count }, (_, n) => `Line ${n}.\n\n`).join('')
const show = (text: string, streaming = false) => {
  const view = (text: string, streaming: boolean) => (
    <div className="scroll">
      <Markdown text={text} streaming={streaming} />
    </div>
  )
  const { container, rerender } = render(view(text, streaming))
  return {
    parts: () => [...container.querySelectorAll<HTMLElement>('.part')],
    becomes: (text: string, streaming: boolean) => rerender(view(text, streaming)),
  }
}
const says = (target: Element, isIntersecting: boolean, height = 120.5) =>
  act(() => look([{ target, isIntersecting, boundingClientRect: { height } as DOMRect }]))

it('a short text is not observed', () => {
  show(paragraphs(40))
  expect(observed).toEqual([])
})

it('a distant part of a long text keeps only its height until it is near again', () => {
  const { parts } = show(paragraphs(80))
  const [first] = parts() as [HTMLElement]
  says(first, false)
  expect(parts()[0]?.childElementCount).toBe(0)
  expect(parts()[0]?.style.height).toBe('120.5px')
  expect(parts()[1]?.textContent).toContain('Line 8.')
  says(first, true)
  expect(parts()[0]?.textContent).toContain('Line 0.')
  expect(parts()[0]?.style.height).toBe('')
})

it('a part without layout stays', () => {
  const { parts } = show(paragraphs(80))
  says(parts()[0] as HTMLElement, false, 0)
  expect(parts()[0]?.textContent).toContain('Line 0.')
})

it('a growing part is never omitted', () => {
  const { parts, becomes } = show(paragraphs(80), true)
  expect(observed).not.toContain(parts().at(-1))
  becomes(paragraphs(81), true)
  expect(parts().at(-1)?.textContent).toContain('Line 80.')
  becomes(paragraphs(81), false)
  expect(observed).toContain(parts().at(-1))
})

it('a part with the focus is not omitted', () => {
  const { parts } = show(`\`\`\`\ncode\n\`\`\`\n\n${paragraphs(80)}`)
  const [first] = parts() as [HTMLElement]
  first.querySelector('button')?.focus()
  says(first, false)
  expect(first.querySelector('button')).toBe(document.activeElement)
})

it('a part whose text changes is rendered and measured again', () => {
  const text = `See [it][x].\n\n${paragraphs(80)}`
  const { parts, becomes } = show(text, true)
  says(parts()[0] as HTMLElement, false)
  expect(parts()[0]?.childElementCount).toBe(0)
  becomes(`${text}[x]: https://example.org/\n`, false)
  expect(parts()[0]?.querySelector('a')?.textContent).toBe('it')
})
