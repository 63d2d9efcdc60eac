import { fireEvent, render, screen } from '@testing-library/react'
import { createRef } from 'react'
import { afterEach, expect, it, vi } from 'vitest'
import { useChords } from '@/app/chords'
import { Composer } from '@/features/chat/Composer'
import { EmptyState } from '@/features/chat/EmptyState'
import { Page } from '../commands'

afterEach(() => {
  vi.unstubAllGlobals()
  useChords.setState({ chosen: {} })
})

const NONE = { count: 0, pictures: false, onFiles: () => {}, onPaste: () => false, chips: null }
function show(coarse: boolean) {
  vi.stubGlobal('matchMedia', (media: string) => ({
    matches: coarse && media.includes('coarse'),
    ...{ media, addEventListener: () => {}, removeEventListener: () => {} },
  }))
  const onSend = vi.fn()
  render(
    <Composer
      input={createRef()}
      text="hello"
      onText={() => {}}
      onSend={onSend}
      attaching={NONE}
      asked={false}
      onEditLast={null}
      onStop={null}
      blocked={null}
    />,
  )
  return onSend
}
const field = () => screen.getByRole('textbox')

it('with an on-screen keyboard Enter breaks the line, and the button sends', () => {
  const onSend = show(true)
  // An event that is not prevented leaves the line break to the browser.
  expect(fireEvent.keyDown(field(), { key: 'Enter' })).toBe(true)
  expect(onSend).not.toHaveBeenCalled()
  expect(field().getAttribute('enterkeyhint')).toBe('enter')
  fireEvent.click(screen.getByRole('button', { name: 'Send' }))
  expect(onSend).toHaveBeenCalledTimes(1)
  fireEvent.keyDown(field(), { key: 'Enter', ctrlKey: true })
  fireEvent.keyDown(field(), { key: 'Enter', metaKey: true })
  expect(onSend).toHaveBeenCalledTimes(3)
})

it('with a keyboard Enter sends, and Alt+Enter is another shortcut', () => {
  const onSend = show(false)
  expect(field().getAttribute('enterkeyhint')).toBe('send')
  fireEvent.keyDown(field(), { key: 'Enter', ctrlKey: true, altKey: true })
  expect(onSend).not.toHaveBeenCalled()
  expect(fireEvent.keyDown(field(), { key: 'Enter' })).toBe(false)
  fireEvent.keyDown(field(), { key: 'Enter', ctrlKey: true })
  expect(onSend).toHaveBeenCalledTimes(2)
})

it('an empty chat lists the current shortcuts, and none that was removed', () => {
  useChords.setState({ chosen: { palette: { code: 'KeyJ', mod: true }, shortcuts: null } })
  render(<EmptyState onPick={() => {}} first={null} />, { wrapper: Page })
  const named = screen.getAllByRole('term').map(term => term.parentElement?.textContent)
  expect(named).toEqual(['New line⇧Enter', 'Command paletteCtrlJ'])
  expect(screen.getAllByRole('term')[0]?.closest('dl')?.className).toContain('pointer-coarse:hidden')
})
