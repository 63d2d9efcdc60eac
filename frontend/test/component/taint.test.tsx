import { act, render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Taint } from '@/api/types'
import { Contacts } from '@/features/chat/Contacts'
import TaintNote from '@/features/chat/TaintNote'
import { setLang } from '@/lib/i18n'

afterEach(() => act(() => setLang('en')))

const page = (n: number): Taint => ({ from: 'page', name: `https://x.test/${n}` })
const note = () => screen.getByRole('region', { name: 'Untrusted content' })

describe('the note about text from outside', () => {
  it('names the sources and lets a person clear them', async () => {
    const onClear = vi.fn()
    const document: Taint = { from: 'document', name: 'knowledge/a\u202eb.md' }
    render(<TaintNote sources={[page(1), document, page(2), { from: 'imported' }]} onClear={onClear} />)
    const words = note().textContent ?? ''
    expect(words).toContain('This conversation contains untrusted content: web page https://x.test/1')
    expect(words).toContain('knowledge/a\\u202eb.md')
    expect(words).toContain('2 more')
    expect(words).not.toContain('https://x.test/2')
    expect(screen.getByTitle(/https:\/\/x\.test\/2/)).toBeTruthy()
    await userEvent.click(screen.getByRole('button', { name: 'Mark as reviewed' }))
    expect(onClear).toHaveBeenCalledOnce()
  })

  it('cannot be cleared while the conversation runs', () => {
    render(<TaintNote sources={[page(1)]} onClear={null} />)
    expect(screen.getByRole('button', { name: 'Mark as reviewed' })).toHaveProperty('disabled', true)
  })

  it('is absent for text that only a command wrote', () => {
    const { container } = render(<TaintNote sources={[{ from: 'output' }]} onClear={() => {}} />)
    expect(container.textContent).toBe('')
  })

  it('is translated to Chinese', async () => {
    await act(() => setLang('zh'))
    render(<TaintNote sources={[page(1), { from: 'command' }]} onClear={() => {}} />)
    expect(screen.getByRole('region').textContent).toMatch(/此对话包含不受信任的内容：网页 .*标记为已查看/)
  })
})

describe('the contacts of a command', () => {
  const result = (data: unknown) => ({ status: 0, message: 'ran', data, operationCode: [] })

  it('list the reached, refused and unlisted hosts', () => {
    const contacts = [
      { host: 'a.test', refused: false },
      { host: '10.0.0.1', refused: true },
      { host: 'b.test:8080', refused: false },
    ]
    render(<Contacts result={result({ contacts, more_contacts: 7 })} />)
    expect(screen.getByText('Network access: a.test, b.test:8080')).toBeTruthy()
    expect(screen.getByText('Blocked: 10.0.0.1')).toBeTruthy()
    expect(screen.getByText('7 more attempts not listed')).toBeTruthy()
  })

  it('show nothing if there were none, or for an unknown shape', () => {
    for (const other of [undefined, null, 'x', result({}), result(null)]) {
      const { container, unmount } = render(<Contacts result={other} />)
      expect(container.textContent).toBe('')
      unmount()
    }
  })
})
