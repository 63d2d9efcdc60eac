import { act, fireEvent, render, screen } from '@testing-library/react'
import { createRef, useState } from 'react'
import { expect, it, vi } from 'vitest'
import type { Attaching } from '@/features/attach/useAttaching'
import { Composer } from '@/features/chat/Composer'
import { RenameField } from '@/features/sessions/RenameField'

const NONE: Attaching = { count: 0, pictures: false, onFiles: () => {}, onPaste: () => false, chips: null }
interface HostProps {
  onSend: () => void
  blocked?: string | null
  attaching?: Attaching
  first?: string
  onEditLast?: () => void
}

function Host({
  onSend,
  blocked = null,
  attaching = NONE,
  first = '你好',
  onEditLast = () => {},
}: HostProps) {
  const [text, setText] = useState(first)
  const [input] = useState(() => createRef<HTMLTextAreaElement>())
  return (
    <Composer
      input={input}
      text={text}
      onText={setText}
      onSend={onSend}
      attaching={attaching}
      asked={false}
      onEditLast={onEditLast}
      onStop={null}
      blocked={blocked === null ? null : { reason: blocked }}
    />
  )
}
const field = () => screen.getByRole('textbox')

it('Enter sends, Shift+Enter does not', () => {
  const onSend = vi.fn()
  render(<Host onSend={onSend} />)
  fireEvent.keyDown(field(), { key: 'Enter', shiftKey: true })
  expect(onSend).not.toHaveBeenCalled()
  fireEvent.keyDown(field(), { key: 'Enter' })
  expect(onSend).toHaveBeenCalledOnce()
})

it('Enter that confirms a word in an input method does not send', async () => {
  vi.useFakeTimers()
  const onSend = vi.fn()
  render(<Host onSend={onSend} />)
  fireEvent.keyDown(field(), { key: 'Enter', isComposing: true })
  fireEvent.keyDown(field(), { key: 'Enter', keyCode: 229 })
  fireEvent.compositionStart(field())
  fireEvent.keyDown(field(), { key: 'Enter' })
  fireEvent.compositionEnd(field())
  // Safari fires the end of the composition before the keydown that caused it.
  fireEvent.keyDown(field(), { key: 'Enter' })
  expect(onSend).not.toHaveBeenCalled()
  act(() => vi.runAllTimers())
  vi.useRealTimers()
  fireEvent.keyDown(field(), { key: 'Enter' })
  expect(onSend).toHaveBeenCalledOnce()
})

it('Enter sends once the key that confirmed a word is released, however late the timers are', () => {
  vi.useFakeTimers()
  const onSend = vi.fn()
  render(<Host onSend={onSend} />)
  fireEvent.compositionStart(field())
  fireEvent.keyUp(field(), { key: 'n', isComposing: true })
  fireEvent.keyDown(field(), { key: 'Enter' })
  fireEvent.compositionEnd(field())
  fireEvent.keyUp(field(), { key: 'Enter' })
  expect(onSend).not.toHaveBeenCalled()
  fireEvent.keyDown(field(), { key: 'Enter' })
  vi.useRealTimers()
  expect(onSend).toHaveBeenCalledOnce()
})

it('arrow up edits the last message in an empty field, and moves the cursor in a text', () => {
  const onEditLast = vi.fn()
  const { unmount } = render(<Host onSend={() => {}} onEditLast={onEditLast} />)
  fireEvent.keyDown(field(), { key: 'ArrowUp' })
  expect(onEditLast).not.toHaveBeenCalled()
  unmount()
  render(<Host onSend={() => {}} onEditLast={onEditLast} first="" />)
  fireEvent.keyDown(field(), { key: 'ArrowUp', isComposing: true })
  fireEvent.keyDown(field(), { key: 'ArrowUp', altKey: true })
  expect(onEditLast).not.toHaveBeenCalled()
  fireEvent.keyDown(field(), { key: 'ArrowUp' })
  expect(onEditLast).toHaveBeenCalledOnce()
})

it('says why sending is disabled', () => {
  const onSend = vi.fn()
  render(<Host onSend={onSend} blocked="No model connected" />)
  fireEvent.keyDown(field(), { key: 'Enter' })
  expect(onSend).not.toHaveBeenCalled()
  expect(screen.getByText('No model connected')).toBeTruthy()
})

it('files need no text, and a paste that is attached does not reach the field', () => {
  const onSend = vi.fn()
  const onPaste = vi.fn((data: DataTransfer) => data.getData('text/plain') === 'long')
  render(<Host first="" onSend={onSend} attaching={{ ...NONE, count: 1, onPaste }} />)
  fireEvent.keyDown(field(), { key: 'Enter' })
  expect(onSend).toHaveBeenCalledOnce()
  const paste = (text: string) =>
    fireEvent.paste(field(), { clipboardData: { getData: () => text, files: [] } })
  expect(paste('long')).toBe(false)
  expect(paste('short')).toBe(true)
})

it('renaming: Enter applies, Esc cancels, an input method is left alone', () => {
  const done = vi.fn()
  const { unmount } = render(<RenameField title="old" onDone={done} />)
  fireEvent.change(field(), { target: { value: 'new' } })
  fireEvent.keyDown(field(), { key: 'Enter', isComposing: true })
  expect(done).not.toHaveBeenCalled()
  fireEvent.keyDown(field(), { key: 'Enter' })
  expect(done).toHaveBeenCalledWith('new')
  unmount()
  render(<RenameField title="old" onDone={done} />)
  fireEvent.change(field(), { target: { value: 'other' } })
  fireEvent.keyDown(field(), { key: 'Escape' })
  expect(done).toHaveBeenLastCalledWith(null)
})
