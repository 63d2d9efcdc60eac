import { fireEvent, render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, it, vi } from 'vitest'
import { Splitter } from '@/components/ui/Splitter'

function splitter(direction: 1 | -1 = 1) {
  const onChange = vi.fn()
  const onCollapse = vi.fn()
  render(
    <Splitter
      value={268}
      min={200}
      max={420}
      start={300}
      direction={direction}
      label="resize"
      controls="pane"
      onChange={onChange}
      onCollapse={onCollapse}
    />,
  )
  const handle = screen.getByRole('separator')
  handle.setPointerCapture = () => {}
  return { handle, onChange, onCollapse, widths: () => onChange.mock.calls.map(([width]) => width) }
}

it('moves by the keyboard and stays within its limits', async () => {
  const { handle, widths, onCollapse } = splitter()
  handle.focus()
  await userEvent.keyboard('{ArrowRight}{ArrowLeft}{Shift>}{ArrowLeft}{/Shift}{Home}{End}{Enter}')
  expect(widths()).toEqual([284, 252, 204, 200, 420])
  expect(onCollapse).toHaveBeenCalledOnce()
})

it('moves the other way on the other side', async () => {
  const { handle, widths } = splitter(-1)
  handle.focus()
  await userEvent.keyboard('{ArrowRight}')
  expect(widths()).toEqual([252])
})

it('follows the pointer only while it is held', () => {
  const { handle, widths } = splitter()
  fireEvent.pointerMove(handle, { clientX: 50 })
  fireEvent.pointerDown(handle, { clientX: 100, pointerId: 1 })
  fireEvent.pointerMove(handle, { clientX: 130 })
  fireEvent.pointerMove(handle, { clientX: 900 })
  fireEvent.pointerUp(handle)
  fireEvent.pointerMove(handle, { clientX: 110 })
  expect(widths()).toEqual([298, 420])
})

it('resets on a double click', async () => {
  const { handle, widths } = splitter()
  await userEvent.dblClick(handle)
  expect(widths().at(-1)).toBe(300)
})
