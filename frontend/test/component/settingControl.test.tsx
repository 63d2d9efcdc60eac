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
