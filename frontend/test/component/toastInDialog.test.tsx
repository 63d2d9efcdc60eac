import { act, render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { beforeEach, expect, it, vi } from 'vitest'
import { Dialog } from '@/components/ui/Dialog'
import { Toasts } from '@/components/ui/Toasts'
import { toast, useToasts } from '@/stores/toasts'

beforeEach(() => useToasts.setState({ list: [] }))

const page = (open: boolean) => (
  <>
    <Dialog open={open} onOpenChange={() => undefined} title="Settings">
      <button type="button">Inside</button>
    </Dialog>
    <Toasts />
  </>
)

it('a toast can be reached and pressed while a modal dialog is open', async () => {
  const run = vi.fn()
  const { rerender } = render(page(true))
  await screen.findByRole('dialog')
  act(() => toast('Deleted', { action: { label: 'Undo', run } }))
  // By role: what is hidden from assistive technology is not found.
  const undo = await screen.findByRole('button', { name: 'Undo' })
  undo.focus()
  expect(document.activeElement).toBe(undo)
  await userEvent.click(undo)
  expect(run).toHaveBeenCalledOnce()
  act(() => toast('Second'))
  rerender(page(false))
  expect(await screen.findByText('Second')).toBeTruthy()
  expect(screen.queryByRole('dialog')).toBeNull()
})
