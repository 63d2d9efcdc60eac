import { expect, it } from 'vitest'
import { SHORTCUTS, shortcutOf } from '@/app/shortcuts'

const key = (init: KeyboardEventInit, target: HTMLElement = document.body): string | undefined => {
  const event = new KeyboardEvent('keydown', { ...init, bubbles: true })
  target.dispatchEvent(event)
  return shortcutOf(event)?.command
}

it('no two shortcuts share their keys', () => {
  const chords = SHORTCUTS.map(s => [s.code, s.mod, s.shift, s.alt].join())
  expect(new Set(chords).size).toBe(chords.length)
})

it('finds a command by the physical key and all of its modifiers', () => {
  expect(key({ code: 'KeyK', ctrlKey: true })).toBe('palette')
  expect(key({ code: 'KeyK' })).toBeUndefined()
  expect(key({ code: 'KeyB', ctrlKey: true, altKey: true })).toBe('toggleInspector')
  expect(key({ code: 'KeyB', ctrlKey: true })).toBe('toggleSessions')
  expect(key({ code: 'KeyO', ctrlKey: true, shiftKey: true })).toBe('newChat')
})

it('a single letter does not fire while somebody writes', () => {
  const area = document.createElement('textarea')
  document.body.append(area)
  expect(key({ code: 'Slash' }, area)).toBeUndefined()
  expect(key({ code: 'Slash' })).toBe('focusComposer')
  area.remove()
})

it('a key that belongs to an input method is nobody else’s', () => {
  expect(key({ code: 'Escape', isComposing: true })).toBeUndefined()
  expect(key({ code: 'Escape' })).toBe('stopWork')
})
