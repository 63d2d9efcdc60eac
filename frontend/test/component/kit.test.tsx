import { readdirSync, readFileSync } from 'node:fs'
import { fireEvent, render, screen, waitFor } from '@testing-library/react'
import { Search } from 'lucide-react'
import { useState } from 'react'
import { describe, expect, it, vi } from 'vitest'
import { ApiError } from '@/api/client'
import { Banner } from '@/components/ui/Banner'
import { Input } from '@/components/ui/Input'
import { Meter } from '@/components/ui/Meter'
import { QueryError } from '@/components/ui/QueryError'
import { TabList, TabPanel, Tabs } from '@/components/ui/Tabs'
import { t } from '@/lib/i18n'

describe('QueryError', () => {
  const error = new ApiError(507, { code: 'disk_full', message: 'ENOSPC' })

  it('explains the error by its code', () => {
    render(<QueryError error={error} />)
    expect(screen.getByRole('alert').textContent).toBe(t('loadFailed', { reason: t('diskFull') }))
    expect(screen.queryByRole('button')).toBeNull()
  })

  it('retries if it can', () => {
    const onRetry = vi.fn()
    render(<QueryError error={error} onRetry={onRetry} />)
    fireEvent.click(screen.getByRole('button', { name: t('retry') }))
    expect(onRetry).toHaveBeenCalledTimes(1)
  })
})

describe('Meter', () => {
  it('warns from 75 % on, and is red from 90 % on', () => {
    const looks = [0.74, 0.75, 0.89, 0.9].map(value => {
      const { container, unmount } = render(<Meter value={value} max={1} label="Context" text="" />)
      const look = /bg-(fg-3|warn|bad)/.exec(container.querySelector('[role=meter] > div')?.className ?? '')
      unmount()
      return look?.[1]
    })
    expect(looks).toEqual(['fg-3', 'warn', 'warn', 'bad'])
  })
})

describe('Banner', () => {
  it('is announced by a screen reader only if it has a role', () => {
    const { rerender } = render(<Banner tone="warn">Lost</Banner>)
    expect(screen.queryByRole('status')).toBeNull()
    rerender(
      <Banner tone="warn" role="status" actions={<button type="button">Again</button>}>
        Lost
      </Banner>,
    )
    expect(screen.getByRole('status').textContent).toBe('LostAgain')
  })
})

describe('Input', () => {
  it('is named by the label around it, also with an icon and a button', () => {
    const onChange = vi.fn()
    render(
      <label>
        Filter
        <Input icon={Search} end={<button type="button" aria-label="Clear" />} value="" onChange={onChange} />
      </label>,
    )
    fireEvent.change(screen.getByRole('textbox', { name: /Filter/ }), { target: { value: 'a' } })
    expect(onChange).toHaveBeenCalledTimes(1)
    expect(screen.getByRole('button', { name: 'Clear' })).toBeTruthy()
  })
})

describe('Tabs', () => {
  function Two() {
    const [tab, setTab] = useState<'one' | 'two'>('one')
    return (
      <Tabs value={tab} onChange={setTab}>
        <TabList
          label="both"
          tabs={[
            { value: 'one', words: 'One' },
            { value: 'two', words: 'Two' },
          ]}
        />
        <TabPanel of="one">first</TabPanel>
        <TabPanel of="two">second</TabPanel>
      </Tabs>
    )
  }

  it('change by the arrow keys, and show the selected panel', async () => {
    render(<Two />)
    const one = screen.getByRole('tab', { name: 'One' })
    one.focus()
    fireEvent.keyDown(one, { key: 'ArrowRight' })
    await waitFor(() => expect(screen.getByRole('tabpanel').textContent).toBe('second'))
    expect(screen.getByRole('tab', { selected: true }).textContent).toBe('Two')
  })
})

describe('no component outside the kit reimplements', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.tsx') && !name.startsWith('components/ui/'))
    .map(name => [name, readFileSync(`src/${name}`, 'utf8')] as const)
  const having = (part: RegExp) => files.filter(([, text]) => part.test(text)).map(([name]) => name)

  it.each([
    ['a spinner', /"spin /, '<i className="spin me-1" />'],
    ['a pane', /"[^"]*\bpane flex h-full min-h-0/, '<div className="pane flex h-full min-h-0" />'],
    ['tabs', /\bTabs\b[^\n]*'radix-ui'/, "import { Tabs } from 'radix-ui'"],
    [
      'the size of an icon button',
      /<(?:Icon|Files)Button\b[^>]*\bsize-\d+!/,
      '<IconButton\n className="size-7!">',
    ],
    [
      'the height of a touched row',
      /max-md:min-h-11 pointer-coarse:min-h-11/,
      '"py-1 max-md:min-h-11 pointer-coarse:min-h-11"',
    ],
    ['an error message', /<p[^>]*role="alert"[^>]*text-bad/, '<p role="alert" className="text-bad">'],
  ])('%s', (_, part, copy) => {
    expect(copy).toMatch(part)
    expect(files.length).toBeGreaterThan(100)
    expect(having(part)).toEqual([])
  })

  it('a banner', () => {
    expect(having(/border-b bg-(warn|bad|accent)-soft/)).toEqual([])
    expect(having(/bg-(warn|bad|accent)-soft[^"]*border-b/)).toEqual([])
  })

  it('a field, except checkboxes, file inputs and the palette', () => {
    const own = having(/<input\b(?![^>]*type="(checkbox|file)")/)
    expect(own).toEqual(['features/palette/Palette.tsx'])
  })
})
