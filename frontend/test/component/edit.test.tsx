import { fireEvent, render, screen } from '@testing-library/react'
import { expect, it, vi } from 'vitest'
import EditForm from '@/features/chat/EditForm'

const FILES = [
  { name: 'a.txt', extension: 'txt', content: 'a' },
  { name: 'b.txt', extension: 'txt', content: 'b' },
]

it('a file can be removed from a message that is being edited', () => {
  const onSend = vi.fn()
  render(<EditForm text="look" attachments={FILES} onSend={onSend} onCancel={() => {}} />)
  fireEvent.click(screen.getByRole('button', { name: 'Remove a.txt' }))
  expect(screen.queryByText('a.txt')).toBeNull()
  expect(document.activeElement).toBe(screen.getByRole('textbox'))
  fireEvent.click(screen.getByRole('button', { name: 'Send' }))
  expect(onSend).toHaveBeenCalledWith({ content: 'look', attachments: [FILES[1]] })
})

it('a message without text needs at least one file', () => {
  render(<EditForm text="" attachments={FILES.slice(1)} onSend={() => {}} onCancel={() => {}} />)
  const send = screen.getByRole<HTMLButtonElement>('button', { name: 'Send' })
  expect(send.disabled).toBe(false)
  fireEvent.click(screen.getByRole('button', { name: 'Remove b.txt' }))
  expect(send.disabled).toBe(true)
})
