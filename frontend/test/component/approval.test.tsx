import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { act, render, screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Answer } from '@/api/approvals'
import type { Approval } from '@/api/types'
import { ApprovalCard } from '@/features/approvals/ApprovalCard'
import { setHeld } from '@/features/approvals/held'
import { Rehearsal } from '@/features/approvals/Rehearsal'
import { AlwaysRules } from '@/features/settings/AlwaysRules'
import { setLang } from '@/lib/i18n'
import { useAnnouncer } from '@/stores/announcer'
import { approval, change } from '../unit/approvals'

const START = new Date('2026-11-22T10:00:00Z')
beforeEach(() => {
  vi.useFakeTimers({ shouldAdvanceTime: true })
  vi.setSystemTime(START)
})
afterEach(() => {
  vi.useRealTimers()
})

const user = userEvent.setup({ advanceTimers: vi.advanceTimersByTime.bind(vi) })

function show(asked: Approval = approval(), focus = false) {
  const given: Answer[] = []
  render(
    <ApprovalCard
      approval={asked}
      takesFocus={() => focus}
      onTryOut={async () => null}
      onAnswer={async answer => {
        given.push(answer)
        return null
      }}
    />,
  )
  return given
}
const card = () => screen.getByRole('group', { name: /^Approval needed/ })
const read = () => act(() => vi.advanceTimersByTime(1000))

describe('the card of a pending call', () => {
  it('shows what would run, where, and why approval is needed', () => {
    show(approval({ shown: { command: 'rm\u202e -rf x', cwd: 'scratch/', network: true, level: 'strict' } }))
    expect(card().textContent).toContain('rm\\u202e -rf x')
    expect(card().textContent).toContain('in scratch/ · network access · sandbox: strict')
    expect(card().textContent).toContain('Commands ask.')
  })

  it('of a command that ran apart says what it would change, and applies or discards it', async () => {
    const rehearsal = { outcome: 'exit code 2', output: 'hello\u202e', created: 1, changed: 0, deleted: 3 }
    const refused = ['pipe: pipes, sockets and devices are not kept']
    const not_kept = [
      { path: 'big.iso', size: 600_000_000, why: 'too_large' as const },
      { path: 'small', size: 12, why: 'limit_reached' as const },
    ]
    const shown = {
      ...approval().shown,
      rehearsal: { ...rehearsal, refused, not_kept, more_not_kept: 3, hash: 'h' },
    }
    vi.stubGlobal('fetch', async () => Response.json({ code: 'not_found', message: 'gone' }, { status: 404 }))
    const asked = approval({ shown })
    const given: Answer[] = []
    const onAnswer = async (answer: Answer) => {
      given.push(answer)
      return null
    }
    render(
      <QueryClientProvider client={new QueryClient()}>
        <ApprovalCard
          approval={asked}
          takesFocus={() => false}
          onAnswer={onAnswer}
          onTryOut={async () => null}
        />
      </QueryClientProvider>,
    )
    const effect = within(screen.getByRole('region', { name: 'What it would change' }))
    for (const words of [
      'deletes 3',
      'creates 1',
      'exit code 2',
      'pipe: pipes, sockets and devices are not kept',
    ])
      expect(effect.getByText(words)).toBeTruthy()
    expect(effect.queryByText(/^changes/)).toBeNull()
    const unkept = effect.getByText('An undo can’t bring these back:').parentElement?.textContent
    expect(unkept).toMatch(/big\.iso \(.*\): too large to be kept/)
    expect(unkept).toMatch(/small \(12 bytes\): the limit of what is kept for undos/)
    expect(unkept).toContain('3 more')
    expect(card().textContent).toContain('hello\\u202e')
    expect(screen.getByRole('list', { name: 'Risks' }).textContent).toBe('Deletes files')
    expect(await effect.findByText(/isn’t available right now/)).toBeTruthy()
    expect(screen.queryByRole('button', { name: /^(Allow once|Deny)/ })).toBeNull()
    await user.click(screen.getByRole('button', { name: /^Apply/ }))
    await user.click(screen.getByRole('button', { name: /^Discard\d?$/ }))
    expect(given).toEqual([{ decision: 'approve' }, { decision: 'deny' }])
    await user.click(screen.getByRole('button', { name: 'Edit…' }))
    expect(card().textContent).toContain('An edited command runs directly.')
    vi.unstubAllGlobals()
  })

  it('names the hosts that a command asked for in vain, in both languages', async () => {
    vi.stubGlobal('fetch', async () => Response.json({ files: [] }))
    const effect = { outcome: 'exit code 6', output: '', created: 1, changed: 0, deleted: 0, hash: 'h' }
    const text = (hosts?: string[], more?: number) => {
      const rehearsal = { ...effect, hosts, more_hosts: more }
      const { unmount } = render(
        <QueryClientProvider client={new QueryClient()}>
          <ApprovalCard
            approval={approval({ shown: { ...approval().shown, rehearsal } })}
            takesFocus={() => false}
            onAnswer={async () => null}
            onTryOut={async () => null}
          />
        </QueryClientProvider>,
      )
      const shown = card().textContent
      unmount()
      return shown
    }
    const hosts = ['a.example', 'b\u202e.example:8080']
    expect(text(hosts)).toContain('It wanted to reach: a.example, b\\u202e.example:8080 — it had no network')
    expect(text(hosts)).not.toContain('not listed')
    expect(text(hosts, 3)).toContain('3 more attempts not listed')
    for (const none of [undefined, []]) expect(text(none)).not.toContain('wanted to reach')
    await act(() => setLang('zh'))
    render(
      <QueryClientProvider client={new QueryClient()}>
        <Rehearsal approval={approval()} rehearsal={{ ...effect, hosts }} />
      </QueryClientProvider>,
    )
    const chinese = screen.getByRole('region', { name: '将产生的更改' }).textContent
    expect(chinese).toContain('它想访问：a.example, b\\u202e.example:8080（当时没有网络）')
    await act(() => setLang('en'))
    vi.unstubAllGlobals()
  })

  it('says first what it is, and names its risks', () => {
    const shown = { command: 'curl x', cwd: 'scratch/', network: true, level: 'off', reads: ['knowledge'] }
    show(approval({ shown, because: { code: 'network', text_from: 'page', file: 'https://a.example' } }))
    expect(screen.getByRole('heading').textContent).toBe('Run a command')
    const risks = within(screen.getByRole('list', { name: 'Risks' })).getAllByRole('listitem')
    expect(risks.map(risk => risk.textContent)).toEqual([
      ...['Outside the sandbox', 'Untrusted content', 'Network access', 'Reads your documents'],
    ])
  })

  it('names no risk where the server reports none', () => {
    show()
    expect(screen.queryByRole('list', { name: 'Risks' })).toBeNull()
  })

  it('shows JSON indented, and code with its line breaks', () => {
    const shown = { command: '{"a":[1,2]}', cwd: '', network: false, level: '' }
    show(approval({ tool: 'mcp_x', effect: 'write', shown }))
    expect(screen.getByRole('figure').querySelector('pre')?.textContent).toBe(
      JSON.stringify({ a: [1, 2] }, null, 2),
    )
  })

  it('says that the call reads documents', () => {
    const shown = { command: 'ls', cwd: 'scratch/', network: false, level: 'standard', reads: ['knowledge'] }
    show(approval({ shown }))
    expect(card().textContent).toContain(
      'in scratch/ · reads knowledge/ · no network access · sandbox: standard',
    )
  })

  it('gives the reason in the page’s language, or in the server’s words if it is untranslated', async () => {
    await act(() => setLang('zh'))
    const because = { code: 'persona', text_from: 'skill', file: 'skills/tidy/SKILL.md' }
    const { unmount } = render(
      <ApprovalCard
        approval={approval({ because })}
        takesFocus={() => false}
        onAnswer={async () => null}
        onTryOut={async () => null}
      />,
    )
    expect(screen.getByText(/更改人设、记忆和技能需要批准.*skills\/tidy\/SKILL\.md.*。$/)).toBeTruthy()
    expect(screen.queryByText(/Commands ask/)).toBeNull()
    unmount()
    show(approval({ because: { code: 'something_new' } }))
    expect(screen.getByText(/Commands ask/)).toBeTruthy()
    await act(() => setLang('en'))
  })

  it('says what exactly a standing rule allows', () => {
    show()
    const { title } = screen.getByRole('button', { name: /Always allow this exact command/ })
    expect(title).toMatch(/^Runs terminal without asking when .* are exactly the same/)
  })

  it('responds to the mouse', async () => {
    const given = show()
    for (const name of [/Allow once/, /Always allow this exact command/, 'Deny']) {
      const button = screen.getByRole<HTMLButtonElement>('button', { name })
      // One answer at a time: the buttons are disabled while one is being sent.
      await waitFor(() => expect(button.disabled).toBe(false))
      await user.click(button)
    }
    expect(given).toEqual([{ decision: 'approve' }, { decision: 'always' }, { decision: 'deny' }])
  })

  it('responds to 1, 2 and 3 only while it has the focus', async () => {
    const given = show()
    read()
    await user.keyboard('1')
    expect(given).toEqual([])
    act(() => card().focus())
    await user.keyboard('1')
    await user.keyboard('2')
    await user.keyboard('3')
    expect(given.map(answer => answer.decision)).toEqual(['approve', 'always', 'deny'])
  })

  it('ignores a digit that was meant for the composer', async () => {
    const given = show(approval(), true)
    expect(document.activeElement).toBe(card())
    await user.keyboard('1')
    expect(given).toEqual([])
    read()
    await user.keyboard('1')
    expect(given).toEqual([{ decision: 'approve' }])
  })

  it('never answers on Esc, and keeps Esc from stopping the run', async () => {
    const given = show()
    const heard = vi.fn()
    window.addEventListener('keydown', heard)
    read()
    act(() => card().focus())
    await user.keyboard('{Escape}')
    window.removeEventListener('keydown', heard)
    expect([given, heard.mock.calls]).toEqual([[], []])
  })

  it('allows an edited input', async () => {
    const given = show()
    await user.click(screen.getByRole('button', { name: 'Edit…' }))
    const command = screen.getByRole('textbox', { name: 'command' })
    await user.clear(command)
    await user.type(command, 'make 1')
    const timeout = screen.getByRole('textbox', { name: 'timeout' })
    await user.clear(timeout)
    await user.type(timeout, 'x')
    await user.click(screen.getByRole('button', { name: 'Allow with changes' }))
    expect(screen.getByRole('alert').textContent).toBe('Invalid JSON.')
    await user.clear(timeout)
    await user.type(timeout, '9')
    await user.click(screen.getByRole('button', { name: 'Allow with changes' }))
    expect(given).toEqual([{ decision: 'approve', arguments: { command: 'make 1', timeout: 9 } }])
  })

  it('denies with a reason', async () => {
    const given = show()
    await user.click(screen.getByRole('button', { name: 'Deny with reason…' }))
    await user.type(screen.getByRole('textbox', { name: 'Reason (sent to miniclaw)' }), 'use 1 file only')
    await user.click(screen.getByRole('button', { name: 'Deny' }))
    expect(given).toEqual([{ decision: 'deny', reason: 'use 1 file only' }])
  })

  it('shows a file change as a diff, without a standing rule if each write needs approval', async () => {
    const given = show(change('memory/MEMORY.md'))
    expect(screen.getByRole('group', { name: 'Changes to memory/MEMORY.md' }).textContent).toContain(
      'added Coffee\\u202e',
    )
    expect(screen.queryByRole('button', { name: /Always/ })).toBeNull()
    read()
    act(() => card().focus())
    await user.keyboard('2')
    expect(given).toEqual([])
  })

  it('counts down silently, and announces once that little time is left', () => {
    show(approval({ expires_at: START.getTime() / 1000 + 95 }))
    expect(screen.getByRole('timer').textContent).toBe('1:35 left')
    useAnnouncer.setState({ text: '' })
    act(() => vi.advanceTimersByTime(60_000))
    expect(screen.getByRole('timer').textContent).toBe('0:35 left')
    expect(useAnnouncer.getState().text).toBe('')
    act(() => vi.advanceTimersByTime(6_000))
    expect(useAnnouncer.getState().text).toBe('Approval for terminal: 30 seconds left')
  })

  it('says that time stands still while the page holds the request', () => {
    show(approval())
    expect(screen.getByRole('timer')).toBeTruthy()
    act(() => setHeld(['p1']))
    expect(screen.queryByRole('timer')).toBeNull()
    expect(card().textContent).toContain('Waits while you’re here')
    act(() => setHeld([]))
    expect(screen.getByRole('timer')).toBeTruthy()
  })

  it('says why an answer was refused', async () => {
    render(
      <ApprovalCard
        approval={approval()}
        takesFocus={() => false}
        onAnswer={async () => 'timeout must be a number'}
        onTryOut={async () => null}
      />,
    )
    await user.click(screen.getByRole('button', { name: /Allow once/ }))
    expect((await screen.findByRole('alert')).textContent).toContain('timeout must be a number')
  })
})

describe('a call that can be tried out', () => {
  const available = approval({ rehearsal: { state: 'available' } })
  const none = { outcome: 'exit code 0', output: 'done', created: 0, changed: 0, deleted: 0, hash: 'h' }
  const tried = approval({ hash: 'def', shown: { ...approval().shown, rehearsal: none } })
  const shown = (asked: Approval, onTryOut: () => Promise<string | null> = async () => null) => (
    <ApprovalCard approval={asked} takesFocus={() => false} onAnswer={async () => null} onTryOut={onTryOut} />
  )
  const button = () =>
    screen.getByRole<HTMLButtonElement>('button', { name: /^(Try it out first|Trying it out…)$/ })

  it('is tried out by its button, which keeps the focus, and then by the card', async () => {
    const requested = vi.fn(async () => null)
    const { rerender } = render(shown(available, requested))
    read()
    act(() => button().focus())
    await user.keyboard('{Enter}')
    expect(requested).toHaveBeenCalledTimes(1)
    rerender(shown(approval({ rehearsal: { state: 'running' } }), requested))
    expect(button().textContent).toBe('Trying it out…')
    expect(document.activeElement).toBe(button())
    await user.keyboard('{Enter}')
    expect(requested).toHaveBeenCalledTimes(1)
    for (const name of [/Allow once/, /^Deny\d?$/])
      expect(screen.getByRole<HTMLButtonElement>('button', { name }).disabled).toBe(false)
    rerender(shown(tried, requested))
    expect(screen.queryByRole('button', { name: /out/ })).toBeNull()
    expect(document.activeElement).toBe(card())
  })

  it('says that it would change nothing, and offers the result', async () => {
    const fetch = vi.fn()
    vi.stubGlobal('fetch', fetch)
    render(shown(tried))
    expect(card().textContent).toContain('It would change no files.')
    expect(screen.getByRole('button', { name: /^Use this result/ })).toBeTruthy()
    expect(screen.getByRole('button', { name: /^Discard\d?$/ })).toBeTruthy()
    expect(fetch).not.toHaveBeenCalled()
    vi.unstubAllGlobals()
  })

  it('says why it could not be requested', async () => {
    render(shown(available, async () => 'the server is shutting down'))
    await user.click(button())
    expect((await screen.findByRole('alert')).textContent).toContain('the server is shutting down')
    expect(button().textContent).toBe('Try it out first')
  })

  it('has no button if it cannot be, but says why once, in the page’s language', async () => {
    const why = 'A command with network cannot be run before it is approved.'
    const rehearsal = { state: 'unavailable', obstacle: 'network', why } as const
    const { rerender } = render(shown(approval({ rehearsal })))
    expect(screen.queryByRole('button', { name: /out/ })).toBeNull()
    expect(screen.getByText(`It can’t be tried out first. ${why}`)).toBeTruthy()
    rerender(shown(approval({ rehearsal, because: { code: 'unrehearsed', obstacle: 'network' } })))
    expect(screen.queryByText(/can’t be tried out/)).toBeNull()
    rerender(shown(approval()))
    expect(screen.queryByText(/can’t be tried out/)).toBeNull()
    await act(() => setLang('zh'))
    rerender(shown(approval({ rehearsal })))
    expect(screen.getByText('无法先试运行：访问网络的命令不能在批准前运行。')).toBeTruthy()
    await act(() => setLang('en'))
  })
})

it('lists standing rules in full, and removes them', async () => {
  const removed: string[] = []
  const rule = { id: 'r1', tool: 'terminal', arguments: { command: 'ls\u200b' }, added_at: 1_790_000_000 }
  render(<AlwaysRules rules={[rule]} error={null} onRemove={r => removed.push(r.id)} />)
  expect(screen.getByRole('listitem').textContent).toContain('ls\\u200b')
  await user.click(screen.getByRole('button', { name: 'Remove rule for terminal' }))
  expect(removed).toEqual(['r1'])
})
