import { act, fireEvent, render, screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { queryClient } from '@/api/queries'
import { signedIn, watchSession } from '@/api/signedOut'
import { runCommand } from '@/app/commands'
import { Dialogs } from '@/app/Dialogs'
import { SignInGate } from '@/app/SignInGate'
import { useShortcuts } from '@/app/useShortcuts'
import { t } from '@/lib/i18n'
import { useUi } from '@/stores/ui'
import { contextOf, Page } from '../commands'
import { serve } from '../fetch'

const context = contextOf()
function Keys() {
  useShortcuts(context)
  return null
}
const show = () =>
  render(
    <Page>
      <Keys />
      <button type="button">beneath</button>
      <Dialogs />
      <SignInGate />
    </Page>,
  )
/** A 401 to a request. */
const endSession = () => act(() => watchSession()())
async function gate(): Promise<HTMLElement> {
  const dialog = await screen.findByRole('dialog', { name: t('signIn') }, { timeout: 15_000 })
  // The dialog beneath learns of it in an effect.
  await act(async () => {})
  return dialog
}

/** A server for one person: it need not know the endpoint that tells how it is used. */
beforeEach(() => serve(({ path }) => (path === '/api/auth/mode' ? [404, {}] : new Promise(() => {}))))
afterEach(() => {
  act(signedIn)
  queryClient.clear()
  useUi.setState({ dialog: null })
  vi.unstubAllGlobals()
})

it('the sign-in is above an open dialog, and hides it and the page from everybody', async () => {
  act(() => useUi.setState({ dialog: { name: 'settings' } }))
  show()
  await screen.findByRole('dialog', { name: t('settings') }, { timeout: 15_000 })
  endSession()
  const dialog = await gate()
  expect(screen.getAllByRole('dialog')).toEqual([dialog])
  expect(screen.queryByRole('button', { name: 'beneath' })).toBeNull()
  expect(dialog.contains(document.activeElement)).toBe(true)
  const settings = document.querySelectorAll<HTMLElement>('[role=dialog]')
  expect(settings).toHaveLength(2)

  for (const element of settings) act(() => element.querySelector<HTMLElement>('button')?.focus())
  expect(dialog.contains(document.activeElement)).toBe(true)
  fireEvent.keyDown(dialog, { key: 'Escape' })
  expect(await gate()).toBe(dialog)
  expect(useUi.getState().dialog?.name).toBe('settings')

  act(signedIn)
  expect(await screen.findByRole('dialog', { name: t('settings') })).toBeTruthy()
  expect(screen.queryByRole('dialog', { name: t('signIn') })).toBeNull()
})

it('a dialog that is still being loaded does not appear above the sign-in', async () => {
  show()
  act(() => useUi.setState({ dialog: { name: 'usage' } }))
  expect(screen.queryByRole('dialog')).toBeNull()
  endSession()
  expect(useUi.getState().dialog).toBeNull()
  const dialog = await gate()
  expect(screen.getAllByRole('dialog')).toEqual([dialog])
})

it('no command runs while the person is signed out', async () => {
  show()
  const press = (code: string) => fireEvent.keyDown(document.body, { code, ctrlKey: true })
  endSession()
  await gate()
  expect(press('KeyK'), 'it is the browser’s key').toBe(true)
  runCommand('settings', context)
  expect(useUi.getState().dialog).toBeNull()
  act(signedIn)
  expect(press('KeyK')).toBe(false)
  expect(useUi.getState().dialog?.name).toBe('palette')
})

it('the sign-in ends with the right token, and says what is wrong with another', async () => {
  serve(({ path, body }) => {
    if (path === '/api/auth/mode') return [404, {}]
    if (path !== '/api/login') return [200, {}]
    return (body as { token: string }).token === 'right'
      ? new Response(null, { status: 204 })
      : [401, { code: 'wrong_token', message: 'no' }]
  })
  show()
  endSession()
  const dialog = await gate()
  const field = screen.getByLabelText(t('token'))
  await userEvent.type(field, 'wrong{Enter}')
  expect(await screen.findByRole('alert')).toBeTruthy()
  expect(screen.getByRole('dialog')).toBe(dialog)
  await userEvent.clear(field)
  await userEvent.type(field, 'right{Enter}')
  await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull())
})
