import { render, screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, it, vi } from 'vitest'
import { Menu, MenuItem } from '@/components/ui/Menu'

const show = (onSelect = vi.fn()) => {
  render(
    <main>
      <Menu trigger={<button type="button">More</button>}>
        <MenuItem icon={null} onSelect={onSelect}>
          Rename
        </MenuItem>
        <MenuItem icon={null} checked onSelect={onSelect}>
          Pin
        </MenuItem>
      </Menu>
    </main>,
  )
  return { trigger: screen.getByRole('button', { name: 'More' }), onSelect }
}

it.each(['{Enter}', ' ', '{ArrowDown}'])('opens with %s and focuses the first item', async key => {
  const { trigger } = show()
  expect(trigger.getAttribute('aria-haspopup')).toBe('menu')
  expect(trigger.getAttribute('aria-expanded')).toBe('false')
  trigger.focus()
  await userEvent.keyboard(key)
  expect(trigger.getAttribute('aria-expanded')).toBe('true')
  const first = await screen.findByRole('menuitem', { name: 'Rename' })
  await waitFor(() => expect(document.activeElement).toBe(first))
})

it('leaves a key with Alt to a shortcut', async () => {
  const { trigger } = show()
  trigger.focus()
  await userEvent.keyboard('{Alt>}{ArrowDown}{/Alt}')
  expect(trigger.getAttribute('aria-expanded')).toBe('false')
})

it('wraps around', async () => {
  const { trigger } = show()
  trigger.focus()
  await userEvent.keyboard('{Enter}')
  const first = await screen.findByRole('menuitem', { name: 'Rename' })
  await waitFor(() => expect(document.activeElement).toBe(first))
  await userEvent.keyboard('{ArrowUp}')
  await waitFor(() => expect(document.activeElement).toBe(screen.getByRole('menuitemcheckbox')))
})

it('returns the focus to its trigger when it closes', async () => {
  const { trigger, onSelect } = show()
  trigger.focus()
  await userEvent.keyboard('{Enter}')
  await screen.findByRole('menuitem', { name: 'Rename' })
  await userEvent.keyboard('{Escape}')
  await waitFor(() => expect(document.activeElement).toBe(trigger))
  expect(screen.queryByRole('menu')).toBeNull()
  expect(trigger.getAttribute('aria-expanded')).toBe('false')
  expect(onSelect).not.toHaveBeenCalled()
})

it('runs the pressed item, and closes', async () => {
  const { trigger, onSelect } = show()
  await userEvent.pointer({ keys: '[MouseLeft]', target: trigger })
  await userEvent.click(await screen.findByRole('menuitemcheckbox', { name: 'Pin' }))
  expect(onSelect).toHaveBeenCalledTimes(1)
  await waitFor(() => expect(screen.queryByRole('menu')).toBeNull())
})
