import { act, render, screen } from '@testing-library/react'
import { expect, it } from 'vitest'
import { StatusRegion } from '@/app/StatusRegion'
import { announce } from '@/stores/announcer'

it('repeated text is announced again, and an error does not wait', () => {
  const { container } = render(<StatusRegion />)
  act(() => announce('Running terminal'))
  const first = screen.getByText('Running terminal')
  act(() => announce('Running terminal'))
  const second = screen.getByText('Running terminal')
  expect(second).not.toBe(first)
  expect(second.parentElement?.role).toBe('status')
  act(() => announce('Response failed', true))
  expect(screen.getByText('Response failed').parentElement?.getAttribute('aria-live')).toBe('assertive')
  expect(container.textContent).toBe('Response failed')
})
