import { render } from '@testing-library/react'
import { expect, it } from 'vitest'
import { StateMark } from '@/features/sessions/StateMark'

it('the row of a conversation says in words what it does, and a spinner turns only while it runs', () => {
  const shown = (['idle', 'running', 'approval', 'error'] as const).map(state => {
    const { container, unmount } = render(<StateMark state={state} />)
    const told = [container.textContent, container.querySelector('.spin') !== null]
    unmount()
    return told
  })
  expect(shown).toEqual([
    ['', false],
    ['Running', true],
    ['Approval', false],
    ['Failed', false],
  ])
})
