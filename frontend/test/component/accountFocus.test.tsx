import { QueryClientProvider } from '@tanstack/react-query'
import { render, screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { beforeEach, expect, it } from 'vitest'
import { queryClient } from '@/api/queries'
import type { Person } from '@/api/types'
import { AccessTokens } from '@/features/auth/AccessTokens'
import { ProfileForm } from '@/features/auth/ProfileForm'
import { serve } from '../fetch'

const AT = '2026-03-01T09:00:00Z'
const ANN = {
  id: 'p-ann',
  username: 'ann',
  email: null,
  role: 'user',
  is_active: true,
  created_at: AT,
} as Person

beforeEach(() => queryClient.clear())
const show = (element: React.ReactNode) =>
  render(<QueryClientProvider client={queryClient}>{element}</QueryClientProvider>)

it('the focus stays among the access tokens after one is deleted, and after Cancel', async () => {
  let items = [{ id: 't1', name: 'backup', scope: 'full', created_at: AT, expires_at: null }]
  serve(({ method }) => {
    if (method === 'DELETE') items = []
    return [200, { code: 0, data: { items } }]
  })
  const { container } = show(<AccessTokens />)
  const button = await screen.findByRole('button', { name: /backup/ })
  await userEvent.click(button)
  await userEvent.click(screen.getByRole('button', { name: 'Cancel' }))
  expect(document.activeElement).toBe(button)
  await userEvent.click(button)
  await userEvent.click(screen.getByRole('button', { name: 'Delete' }))
  await waitFor(() => expect(screen.queryByRole('listitem')).toBeNull())
  expect(document.activeElement).not.toBe(document.body)
  expect(container.contains(document.activeElement)).toBe(true)
})

it('the focus stays in the form after the profile is saved', async () => {
  serve(() => [200, { code: 0, data: { ...ANN, username: 'anna' } }])
  const { container } = show(<ProfileForm person={ANN} />)
  const name = screen.getByLabelText('User name')
  await userEvent.clear(name)
  await userEvent.type(name, 'anna')
  await userEvent.click(screen.getByRole('button', { name: 'Save' }))
  await screen.findByText('Saved.').catch(() => undefined)
  expect(container.contains(document.activeElement)).toBe(true)
})
