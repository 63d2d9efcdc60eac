import { renderHook } from '@testing-library/react'
import { afterEach, expect, it, vi } from 'vitest'
import { keys as queries, queryClient } from '@/api/queries'
import { keysOf, useChords } from '@/app/chords'
import { COMMANDS, isEnabled } from '@/app/commands'
import { shortcutOf } from '@/app/shortcuts'
import { useShortcuts } from '@/app/useShortcuts'
import { actionOfFocused, messageActions } from '@/features/chat/messageActions'
import { lastCode } from '@/features/chat/messages'
import { openBuffer } from '@/features/editor/buffer'
import { putFile, useBuffers } from '@/stores/buffers'
import { updateThread } from '@/stores/live'
import { useUi } from '@/stores/ui'
import { emptyThread } from '@/thread/model'
import { contextOf as context } from '../commands'
import { file } from '../file'
import { approval } from '../unit/approvals'

/** A conversation whose answer is being written. */
function run(id: string): void {
  updateThread(id, () => ({ phase: 'ready', thread: { ...emptyThread(id), running: { workId: 'w1' } } }))
}

afterEach(() => {
  queryClient.clear()
  useBuffers.setState({ files: {}, comparing: null })
  useUi.setState({ file: null })
})

const key = (
  init: KeyboardEventInit,
  target: HTMLElement = document.body,
  sessionId: string | null = null,
): string | undefined => {
  const event = new KeyboardEvent('keydown', { ...init, bubbles: true })
  target.dispatchEvent(event)
  return shortcutOf(event, context(sessionId))?.id
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
  queryClient.setQueryData(queries.approvals, [approval()])
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
  run('s1')
  expect(key({ code: 'Escape', isComposing: true }, document.body, 's1')).toBeUndefined()
  expect(key({ code: 'Escape' }, document.body, 's1')).toBe('stopWork')
})

it('keys that write a character of the layout trigger no command', async () => {
  queryClient.setQueryData(queries.approvals, [approval()])
  const allow = { code: 'Enter', key: 'Enter', ctrlKey: true, altKey: true }
  expect(key(allow)).toBe('allowOldest')
  const altGr = vi.spyOn(KeyboardEvent.prototype, 'getModifierState').mockReturnValue(true)
  expect(key(allow)).toBeUndefined()
  altGr.mockRestore()

  vi.stubGlobal('navigator', { platform: 'MacIntel' })
  vi.resetModules()
  const { isOptionLetter } = await import('@/lib/platform')
  vi.unstubAllGlobals()
  vi.resetModules()
  const letter = (init: KeyboardEventInit) => isOptionLetter(new KeyboardEvent('keydown', init))
  expect(letter({ code: 'KeyZ', key: 'ż', altKey: true })).toBe(true)
  expect(letter({ code: 'KeyC', key: 'Ć', altKey: true, shiftKey: true })).toBe(true)
  expect(letter({ code: 'KeyZ', key: 'Ω', altKey: true }), 'no letter that a text needs').toBe(false)
  expect(letter({ code: 'KeyD', key: 'd', altKey: true })).toBe(false)
  expect(letter({ code: 'KeyZ', key: 'ż', altKey: true, metaKey: true })).toBe(false)
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
  log.innerHTML = '<article tabindex="-1" data-message="m1"><button>x</button></article>'
  document.body.append(log)
  const [article, button] = [log.querySelector('article'), log.querySelector('button')]
  const offered = { copyMessage: () => {} }
  messageActions.set('m1', offered)
  article?.focus()
  expect(key({ code: 'KeyC' }, article as HTMLElement)).toBe('copyMessage')
  expect(key({ code: 'KeyC' }, button as HTMLElement)).toBeUndefined()
  expect(key({ code: 'KeyC' })).toBeUndefined()
  expect(key({ code: 'KeyE' }, article as HTMLElement), 'it cannot be edited').toBeUndefined()
  messageActions.delete('m1', offered)
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
  expect(actionOfFocused('copyMessage')).toBeNull()
  log.querySelector('article')?.focus()
  actionOfFocused('copyMessage')?.()
  expect(done).toEqual(['copied'])
  expect(actionOfFocused('regenerate')).toBeNull()
  messageActions.delete('m1', offered)
  expect(actionOfFocused('copyMessage')).toBeNull()
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

/** Whether the page keeps the keys from the browser. */
function isPrevented(init: KeyboardEventInit, sessionId: string | null): boolean {
  const { unmount } = renderHook(() => useShortcuts(context(sessionId)))
  const event = new KeyboardEvent('keydown', { ...init, bubbles: true, cancelable: true })
  document.body.dispatchEvent(event)
  unmount()
  return event.defaultPrevented
}

it('the browser finds text where no conversation is open', () => {
  const find = { code: 'KeyF', ctrlKey: true }
  expect(isPrevented(find, null)).toBe(false)
  expect(useUi.getState().find).toBeNull()
  expect(isPrevented(find, 's1')).toBe(true)
  expect(useUi.getState().find).toBe('')
  useUi.setState({ find: null })
})

it('a disabled command leaves its keys to another', () => {
  const keys = { code: 'KeyJ', mod: true } as const
  const pressed = { code: 'KeyJ', ctrlKey: true }
  useChords.setState({ chosen: { findInChat: keys, nextPane: keys } })
  expect(key(pressed, document.body, 's1')).toBe('findInChat')
  expect(key(pressed)).toBe('nextPane')
  useChords.setState({ chosen: {} })
})

it('what has nothing to act on is disabled', () => {
  const enabled = (sessionId: string | null) =>
    COMMANDS.filter(command => isEnabled(command, context(sessionId))).map(({ id }) => id)
  const needy = [
    ...['stopWork', 'findInChat', 'copyLastCode', 'foldChains', 'saveFile', 'diffFile'],
    ...['allowOldest', 'denyOldest', 'previousSession', 'nextSession', 'previousMessage', 'nextMessage'],
    ...['copyMessage', 'editMessage', 'regenerate', 'branchHere', 'compress', 'exportMd', 'exportJson'],
  ]
  expect(needy.filter(id => (enabled(null) as string[]).includes(id))).toEqual([])

  run('s1')
  expect(enabled('s1')).toContain('stopWork')
  expect(enabled('s2')).not.toContain('stopWork')

  queryClient.setQueryData(queries.approvals, [approval()])
  expect(enabled(null)).toEqual(expect.arrayContaining(['allowOldest', 'denyOldest']))

  const notes = file('memory/a.md')
  const buffer = openBuffer(notes, 'one', 'e1', 1)
  useUi.setState({ file: notes })
  putFile(notes, { phase: 'open', buffer })
  expect(enabled(null)).toContain('saveFile')
  expect(enabled(null)).not.toContain('diffFile')
  putFile(notes, { phase: 'open', buffer: { ...buffer, text: 'two' } })
  expect(enabled(null)).toContain('diffFile')
})
