import { render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { beforeEach, expect, it } from 'vitest'
import { moveInList } from '@/features/sessions/moveInList'

beforeEach(() => {
  render(
    <nav id="pane-left" aria-label="Conversations" tabIndex={-1} onKeyDown={moveInList}>
      <div role="search">
        <input aria-label="Search" />
      </div>
      <div className="scroll">
        <ul>
          {['One', 'Two', 'Three'].map(name => (
            <li key={name}>
              <a href={`/s/${name}`} aria-current={name === 'Two' ? 'page' : undefined}>
                {name}
              </a>
              <button type="button">Actions for {name}</button>
            </li>
          ))}
        </ul>
      </div>
    </nav>,
  )
})

const after = async (keys: string): Promise<string | null | undefined> => {
  await userEvent.keyboard(keys)
  return document.activeElement?.textContent
}

it('arrows, Home and End move through the conversations and stop at the ends', async () => {
  screen.getByRole('link', { name: 'One' }).focus()
  expect(await after('{ArrowDown}')).toBe('Two')
  expect(await after('{End}')).toBe('Three')
  expect(await after('{ArrowDown}')).toBe('Three')
  expect(await after('{ArrowUp}{ArrowUp}')).toBe('One')
  expect(await after('{ArrowUp}')).toBe('One')
  expect(await after('{End}{Home}')).toBe('One')
})

it('the down arrow leads from the pane and from the search to the open conversation', async () => {
  for (const above of [screen.getByRole('navigation'), screen.getByRole('textbox')]) {
    above.focus()
    expect(await after('{ArrowDown}')).toBe('Two')
  }
})

it('leaves the keys of other controls and of shortcuts alone', async () => {
  screen.getByRole('link', { name: 'One' }).focus()
  expect(await after('{Alt>}{ArrowDown}{/Alt}')).toBe('One')
  screen.getByRole('button', { name: 'Actions for Two' }).focus()
  expect(await after('{ArrowDown}')).toBe('Actions for Two')
  screen.getByRole('textbox').focus()
  await userEvent.keyboard('ab{Home}')
  expect(document.activeElement).toBe(screen.getByRole('textbox'))
})
