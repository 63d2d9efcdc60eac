import { render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ErrorBoundary } from '@/components/ErrorBoundary'
import { onDemand } from '@/components/onDemand'
import { dismiss, useToasts } from '@/stores/toasts'

interface Props {
  name: string
}
const Hello = ({ name }: Props) => <p>Hello {name}</p>
const module = { default: Hello }

describe('a component that is loaded on demand', () => {
  it('loads once, shows as soon as it is loaded, and at once the next time', async () => {
    const load = vi.fn(async () => module)
    const Late = onDemand(load, () => <p>wait</p>)
    const { unmount } = render(<Late name="Ada" />)
    expect(screen.getByText('wait')).toBeTruthy()
    expect(await screen.findByText('Hello Ada')).toBeTruthy()
    unmount()
    render(<Late name="Bob" />)
    expect(screen.getByText('Hello Bob')).toBeTruthy()
    expect(load).toHaveBeenCalledTimes(1)
  })

  it('can be preloaded', async () => {
    const load = vi.fn(async () => module)
    const Late = onDemand(load)
    Late.preload()
    expect(load).toHaveBeenCalledTimes(1)
    render(<Late name="Ada" />)
    expect(await screen.findByText('Hello Ada')).toBeTruthy()
    expect(load).toHaveBeenCalledTimes(1)
  })

  it('shows an error in its place if loading fails, and retries', async () => {
    const load = vi.fn(async () => module).mockRejectedValueOnce(new TypeError('offline'))
    const Late = onDemand(load, () => <p>wait</p>)
    render(<Late name="Ada" />)
    expect((await screen.findByRole('alert')).textContent).toContain('couldn’t be loaded')
    await userEvent.click(screen.getByRole('button', { name: 'Try again' }))
    expect(await screen.findByText('Hello Ada')).toBeTruthy()
  })

  it('shows a toast if it has no place', async () => {
    const load = vi.fn(async () => module).mockRejectedValueOnce(new TypeError('offline'))
    const Late = onDemand(load)
    render(<Late name="Ada" />)
    await vi.waitFor(() => expect(useToasts.getState().list).toHaveLength(1))
    const [told] = useToasts.getState().list
    expect(told?.tone).toBe('bad')
    told?.action?.run()
    expect(await screen.findByText('Hello Ada')).toBeTruthy()
    if (told) dismiss(told.id)
  })
})

const state = { broken: true }
const Pane = () => {
  if (state.broken) throw new Error('a name was missing')
  return <p>whole</p>
}

describe('a pane that breaks', () => {
  beforeEach(() => {
    vi.spyOn(console, 'error').mockImplementation(() => undefined)
  })
  afterEach(() => {
    vi.restoreAllMocks()
  })

  it('does not affect the others, says why, and can be shown again', async () => {
    render(
      <>
        <ErrorBoundary>
          <Pane />
        </ErrorBoundary>
        <p>the other pane</p>
      </>,
    )
    expect(screen.getByRole('alert').textContent).toContain('a name was missing')
    expect(screen.getByText('the other pane')).toBeTruthy()
    state.broken = false
    await userEvent.click(screen.getByRole('button', { name: 'Reload pane' }))
    expect(screen.getByText('whole')).toBeTruthy()
  })

  it('retries when its content changes, and keeps intact content as it is', () => {
    const shown = (of: string) => (
      <ErrorBoundary resetKey={of}>
        <Pane />
        <input aria-label="typed" />
      </ErrorBoundary>
    )
    state.broken = true
    const { rerender } = render(shown('a'))
    expect(screen.getByRole('alert')).toBeTruthy()
    state.broken = false
    rerender(shown('b'))
    const field = screen.getByRole('textbox')
    rerender(shown('c'))
    expect(screen.getByRole('textbox')).toBe(field)
  })
})
