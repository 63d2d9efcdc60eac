import { QueryClientProvider } from '@tanstack/react-query'
import { cleanup, render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, expect, it, vi } from 'vitest'
import { queryClient } from '@/api/queries'
import { ConnectProvider } from '@/features/model/ConnectProvider'
import { serve } from '../fetch'

afterEach(() => vi.unstubAllGlobals())

it('a key is checked before it is stored, and a refusal shows beside the field', async () => {
  const asked: [string, unknown][] = []
  const answers = [
    { status: 502, body: { code: 'auth', message: 'The key was refused.' } },
    { status: 200, body: { models: ['small', 'large'] } },
    { status: 201, body: { id: 'openai', models: [] } },
  ]
  serve(({ path, body: sent }) => {
    asked.push([path, sent])
    const { status, body } = answers[asked.length - 1] ?? { status: 500, body: {} }
    return [status, body]
  })
  const onDone = vi.fn()
  render(
    <QueryClientProvider client={queryClient}>
      <ConnectProvider onDone={onDone} />
    </QueryClientProvider>,
  )
  const person = userEvent.setup()
  await person.click(screen.getByRole('button', { name: 'OpenAI' }))
  const key = screen.getByLabelText(/API key/)
  expect(key.getAttribute('type')).toBe('password')
  await person.type(key, 'sk-1')
  await person.click(screen.getByRole('button', { name: 'Connect' }))
  expect((await screen.findByRole('alert')).textContent).toBe('The key was refused.')
  await person.click(screen.getByRole('button', { name: 'Connect' }))
  const model = await screen.findByLabelText('Model')
  expect((model as HTMLInputElement).value).toBe('small')
  await person.clear(model)
  await person.type(model, 'large')
  await person.click(screen.getByRole('button', { name: 'Start with this model' }))
  await vi.waitFor(() => expect(onDone).toHaveBeenCalledOnce())
  const address = 'https://api.openai.com/v1'
  expect(asked).toEqual([
    ['/api/providers/check', { base_url: address, api_key: 'sk-1' }],
    ['/api/providers/check', { base_url: address, api_key: 'sk-1' }],
    ['/api/providers', { base_url: address, api_key: 'sk-1', default_model: 'large' }],
  ])
  expect((key as HTMLInputElement).value).toBe('')
  cleanup()
  // The key is not kept when the form is gone.
  await vi.waitFor(() => expect(queryClient.getMutationCache().getAll()).toEqual([]))
})
