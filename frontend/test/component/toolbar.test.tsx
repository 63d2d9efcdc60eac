// A toolbar is one stop of the Tab key.
import { act, fireEvent, render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { useState } from 'react'
import { expect, it } from 'vitest'
import { IconButton } from '@/components/ui/Button'
import { Toolbar } from '@/components/ui/Toolbar'

const named = (name: string) => screen.getByRole('button', { name })
const focused = () => document.activeElement?.getAttribute('aria-label')
const keys = (text: string) => userEvent.keyboard(text)

/** A toolbar between two buttons; what is absent or disabled can be changed from outside. */
function Page() {
  const [absent, setAbsent] = useState('')
  const [disabled, setDisabled] = useState('')
  return (
    <>
      <IconButton label="before" />
      <Toolbar label="Actions">
        {['one', 'two', 'three']
          .filter(name => name !== absent)
          .map(name => (
            <IconButton key={name} label={name} disabled={name === disabled} />
          ))}
      </Toolbar>
      <IconButton label="after" />
      {['one', 'two', 'three'].map(name => (
        <p key={name}>
          <button type="button" tabIndex={-1} onClick={() => setAbsent(name)}>{`remove ${name}`}</button>
          <button type="button" tabIndex={-1} onClick={() => setDisabled(name)}>{`disable ${name}`}</button>
        </p>
      ))}
    </>
  )
}

/** Presses a button without giving it the focus. */
const press = async (name: string) => {
  fireEvent.click(named(name))
  // The toolbar sees the change in a microtask.
  await act(async () => {})
}

it('Tab leads to one button and leaves; arrows, Home and End move inside', async () => {
  render(<Page />)
  expect(screen.getByRole('toolbar', { name: 'Actions' })).toBeTruthy()
  named('before').focus()
  const passed: unknown[] = []
  for (const key of [
    '{Tab}',
    '{ArrowRight}',
    '{ArrowRight}',
    '{ArrowRight}',
    '{ArrowLeft}',
    '{Home}',
    '{End}',
  ]) {
    await keys(key)
    passed.push(focused())
  }
  expect(passed).toEqual(['one', 'two', 'three', 'one', 'three', 'one', 'three'])
  await keys('{Tab}')
  expect(focused()).toBe('after')
  await keys('{Shift>}{Tab}{/Shift}')
  expect(focused()).toBe('three')
  await keys('{Shift>}{Tab}{/Shift}')
  expect(focused()).toBe('before')
})

it('keys with Alt, Ctrl or Shift keep their meaning, and so do other keys', () => {
  render(<Page />)
  named('one').focus()
  const isLeft = (init: object) => fireEvent.keyDown(named('one'), init)
  for (const held of ['altKey', 'ctrlKey', 'metaKey', 'shiftKey'])
    expect(isLeft({ key: 'ArrowRight', [held]: true }), held).toBe(true)
  expect(isLeft({ key: 'ArrowUp' })).toBe(true)
  expect(focused()).toBe('one')
  expect(isLeft({ key: 'End' })).toBe(false)
  expect(focused()).toBe('three')
})

it('a click makes a button the one that Tab leads to', async () => {
  render(<Page />)
  await userEvent.click(named('two'))
  named('before').focus()
  await keys('{Tab}')
  expect(focused()).toBe('two')
})

it.each([
  ['remove two', 'three'],
  ['disable two', 'three'],
])('after “%s”, Tab leads to the button that is there', async (change, next) => {
  render(<Page />)
  named('two').focus()
  named('before').focus()
  await press(change)
  await keys('{Tab}')
  expect(focused()).toBe(next)
})

it('the last button that goes away leaves its stop to the one before', async () => {
  render(<Page />)
  named('three').focus()
  named('before').focus()
  await press('remove three')
  await keys('{Tab}')
  expect(focused()).toBe('two')
})

it('a button that is disabled while it has the focus keeps it, and is passed over later', async () => {
  render(<Page />)
  named('two').focus()
  await press('disable two')
  expect(focused()).toBe('two')
  await keys('{ArrowRight}')
  expect(focused()).toBe('three')
  await keys('{ArrowLeft}')
  expect(focused()).toBe('one')
})
