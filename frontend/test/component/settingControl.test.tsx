import { fireEvent, render, screen } from '@testing-library/react'
import { expect, it, vi } from 'vitest'
import type { Setting } from '@/api/types'
import { SettingControl } from '@/features/settings/SettingControl'

const NAME = { key: 'name', kind: 'text', value: '', default: '', source: 'default' } as unknown as Setting

it('Enter that confirms a word in an input method does not set the value', async () => {
  const onSet = vi.fn()
  render(<SettingControl setting={NAME} labelledBy="label" disabled={false} onSet={onSet} />)
  const field = screen.getByRole('textbox')
  fireEvent.compositionStart(field)
  fireEvent.change(field, { target: { value: '你好' } })
  // The Enter that ends the composition says in some browsers only by its key code, in others not at all, whose it is.
  fireEvent.keyDown(field, { key: 'Enter', keyCode: 229 })
  fireEvent.compositionEnd(field)
  fireEvent.keyDown(field, { key: 'Enter' })
  expect(onSet).not.toHaveBeenCalled()
  fireEvent.keyUp(field, { key: 'Enter' })
  fireEvent.keyDown(field, { key: 'Enter' })
  expect(onSet).toHaveBeenCalledExactlyOnceWith('你好')
})

it('keeps what is typed while an earlier value is being saved, and shows the saved form of what was sent', () => {
  const control = (value: string) => (
    <SettingControl setting={{ ...NAME, value }} labelledBy="label" disabled={false} onSet={() => {}} />
  )
  const { rerender } = render(control('one'))
  const field = screen.getByRole<HTMLInputElement>('textbox')
  const type = (value: string) => fireEvent.change(field, { target: { value } })
  const send = () => fireEvent.keyDown(field, { key: 'Enter' })
  type('two ')
  send()
  type('three')
  rerender(control('two'))
  expect(field.value).toBe('three')
  send()
  rerender(control('THREE'))
  expect(field.value).toBe('THREE')
  rerender(control('from elsewhere'))
  expect(field.value).toBe('from elsewhere')
})
