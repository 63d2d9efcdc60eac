import { expect, it } from 'vitest'
import { keysOf, useChords } from '@/app/chords'
import { COMMANDS } from '@/app/commands'
import { shortcutOf } from '@/app/shortcuts'
import { messageActions } from '@/features/chat/messageActions'
import { actOnFocused, lastCode } from '@/features/chat/messages'

const key = (init: KeyboardEventInit, target: HTMLElement = document.body): string | undefined => {
  const event = new KeyboardEvent('keydown', { ...init, bubbles: true })
  target.dispatchEvent(event)
  return shortcutOf(event)?.id
}

it('no two commands share an id or a shortcut', () => {
  const chords = COMMANDS.flatMap(({ keys: k }) => (k ? [[k.code, k.mod, k.shift, k.alt].join()] : []))
  expect(new Set(COMMANDS.map(({ id }) => id)).size).toBe(COMMANDS.length)
  expect(new Set(chords).size).toBe(chords.length)
})

it('a command is found by the physical key and all of its modifiers', () => {
  expect(key({ code: 'KeyK', ctrlKey: true })).toBe('palette')
  expect(key({ code: 'KeyK' })).toBeUndefined()
  expect(key({ code: 'KeyB', ctrlKey: true, altKey: true })).toBe('toggleInspector')
  expect(key({ code: 'KeyB', ctrlKey: true })).toBe('toggleSessions')
  expect(key({ code: 'KeyO', ctrlKey: true, shiftKey: true })).toBe('newChat')
})

it('nothing is allowed or denied while a dialog is open', () => {
  const allow = { code: 'Enter', ctrlKey: true, altKey: true }
  expect(key(allow)).toBe('allowOldest')
  const dialog = document.createElement('div')
  dialog.role = 'dialog'
  document.body.append(dialog)
  expect(key(allow)).toBeUndefined()
  expect(key({ ...allow, code: 'Backspace' })).toBeUndefined()
  dialog.remove()
})

it('a single letter does not fire during typing', () => {
  const area = document.createElement('textarea')
  document.body.append(area)
  expect(key({ code: 'Slash' }, area)).toBeUndefined()
  expect(key({ code: 'Slash' })).toBe('focusComposer')
  area.remove()
})

it('a key of an input method triggers no command', () => {
  expect(key({ code: 'Escape', isComposing: true })).toBeUndefined()
  expect(key({ code: 'Escape' })).toBe('stopWork')
})

it('chosen shortcuts replace the defaults, and removed ones do nothing', () => {
  useChords.setState({ chosen: { palette: { code: 'KeyJ', mod: true }, focusComposer: null } })
  expect(key({ code: 'KeyJ', ctrlKey: true })).toBe('palette')
  expect(key({ code: 'KeyK', ctrlKey: true })).toBeUndefined()
  expect(key({ code: 'Slash' })).toBeUndefined()
  expect(JSON.parse(localStorage.getItem('mc:owner:keys') ?? '')).toMatchObject({ focusComposer: null })
  useChords.setState({ chosen: {} })
  expect(key({ code: 'Slash' })).toBe('focusComposer')
})

it('letters act on a message only while it has the focus', () => {
  const log = document.createElement('div')
  log.setAttribute('role', 'log')
  log.innerHTML = '<article><button>x</button></article>'
  document.body.append(log)
  const [article, button] = [log.querySelector('article'), log.querySelector('button')]
  expect(key({ code: 'KeyC' }, article as HTMLElement)).toBe('copyMessage')
  expect(key({ code: 'KeyC' }, button as HTMLElement)).toBeUndefined()
  expect(key({ code: 'KeyC' })).toBeUndefined()
  log.remove()
})

it('a message command acts on the focused message, whatever its buttons are called', () => {
  const log = document.createElement('div')
  log.setAttribute('role', 'log')
  log.innerHTML = '<article tabindex="-1" data-message="m1"></article>'
  document.body.append(log)
  const done: string[] = []
  const offered = { copyMessage: () => void done.push('copied'), regenerate: null }
  messageActions.set('m1', offered)
  actOnFocused('copyMessage')
  expect(done).toEqual([])
  log.querySelector('article')?.focus()
  actOnFocused('copyMessage')
  actOnFocused('regenerate')
  expect(done).toEqual(['copied'])
  messageActions.delete('m1', offered)
  actOnFocused('copyMessage')
  expect(done).toEqual(['copied'])
  log.remove()
})

it('keys are named as they are printed', () => {
  expect(keysOf({ code: 'Semicolon', mod: true, shift: true })).toEqual(['Ctrl', '⇧', ';'])
  expect(keysOf({ code: 'KeyC', alt: true })).toEqual(['Alt', 'C'])
})

it('the last code block is found, whatever its fence', () => {
  expect(lastCode('a\n```js\none\n```\n~~~\ntwo ``` \n~~~\nend')).toBe('two ``` \n')
  expect(lastCode('no code, only `x`')).toBeNull()
})
