// Where the focus goes when what has it goes away.
import { act, render, screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { useState } from 'react'
import { afterEach, expect, it, vi } from 'vitest'
import { commandOf, isEnabled } from '@/app/commands'
import { Pane } from '@/components/ui/Pane'
import { Toasts } from '@/components/ui/Toasts'
import { Siblings } from '@/features/chat/Siblings'
import { toast, useToasts } from '@/stores/toasts'
import { contextOf } from '../commands'

afterEach(() => useToasts.setState({ list: [] }))

const named = (name: string) => screen.getByLabelText(name)

/** A pane whose button removes itself, and with `all` its message too. */
function Vanishing({ all }: { all: boolean }) {
  const [there, setThere] = useState(true)
  const button = (
    <button type="button" onClick={() => setThere(false)}>
      Go
    </button>
  )
  return (
    <Pane aria-label="Chat">
      {(there || !all) && (
        <article tabIndex={-1} aria-label="Message">
          {there && button}
        </article>
      )}
    </Pane>
  )
}

it.each([
  ['its message', false, 'Message'],
  ['the pane, if the message is gone too', true, 'Chat'],
])('a button that goes away leaves the focus to %s', async (_, all, keeper) => {
  render(<Vanishing all={all} />)
  screen.getByRole('button', { name: 'Go' }).focus()
  await userEvent.keyboard('{Enter}')
  await waitFor(() => expect(document.activeElement).toBe(named(keeper)))
})

it('a notification is reached by its command, and gives the focus back after its action', async () => {
  const undo = vi.fn()
  const command = commandOf('notification')
  render(
    <>
      <input aria-label="Field" />
      <Toasts />
    </>,
  )
  expect(isEnabled(command, contextOf())).toBe(false)
  named('Field').focus()
  act(() => {
    toast('One')
    toast('Deleted', { action: { label: 'Undo', run: undo } })
  })
  expect(isEnabled(command, contextOf())).toBe(true)
  act(() => command.run(contextOf()))
  expect(document.activeElement).toBe(screen.getByRole('button', { name: 'Undo' }))
  await userEvent.keyboard('{Enter}')
  expect(undo).toHaveBeenCalledOnce()
  expect(document.activeElement).toBe(named('Field'))
  expect(screen.queryByText('Deleted')).toBeNull()
})

it('the buttons of another version take the focus of those that led to it', () => {
  function Versions() {
    const [id, setId] = useState('b')
    return <Siblings key={id} id={id} branches={['a', 'b', 'c']} onGo={setId} />
  }
  render(<Versions />)
  const button = (name: string) => screen.getByRole('button', { name })
  button('Previous version').focus()
  act(() => button('Previous version').click())
  // There is none before it.
  expect(document.activeElement).toBe(button('Next version'))
  act(() => button('Next version').click())
  expect(document.activeElement).toBe(button('Next version'))
})
