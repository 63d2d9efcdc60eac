import { render, screen, within } from '@testing-library/react'
import { expect, test } from 'vitest'
import type { Approval, Frame } from '@/api/types'
import { kindOf } from '@/features/approvals/kinds'
import { SegmentView } from '@/features/chat/segments/SegmentView'
import { ToolStep } from '@/features/chat/ToolStep'
import { rendererOfTool } from '@/features/chat/tools'
import { codeIn } from '@/features/chat/tools/codeIn'
import { defaultTool } from '@/features/chat/tools/defaultTool'
import { t } from '@/lib/i18n'
import { advance } from '@/thread/advance'
import { emptyThread, type Step } from '@/thread/model'
import { Page } from '../commands'
import { approval } from '../unit/approvals'

const step: Step = {
  id: 'c1',
  tool: 'mcp_weather',
  input: 'Lisbon',
  arguments: { city: 'Lisbon' },
  output: '21 degrees',
  result: undefined,
  status: 'done',
  durationMs: 4,
  verdict: null,
  undone: false,
}

test.each(['mcp_weather', 'constructor', '__proto__', ''])(
  'tool %s without an entry uses the default',
  tool => {
    expect(rendererOfTool(tool)).toBe(defaultTool)
  },
)

test('search tools have their own renderers', () => {
  const renderers = ['search_memory', 'search_knowledge_base'].map(rendererOfTool)
  expect(renderers).not.toContain(defaultTool)
  expect(renderers[0]).not.toBe(renderers[1])
})

test('a step with a status of a newer server is shown as done', () => {
  const ended = {
    ...{ type: 'tool_end', tool: 'mcp_weather', output: 'ok', id: 'c1', operation_code: [], duration_ms: 4 },
    ...{ result: null, status: 'postponed' },
  } as unknown as Frame
  const begun: Frame = { type: 'user_message', work_id: 'w1', content: 'x', message_id: 'm1' }
  const [, answer] = [begun, ended].reduce(advance, emptyThread('s')).entries
  const segment = answer?.kind === 'assistant' ? answer.segments[0] : undefined
  const shown = segment?.kind === 'tools' ? segment.steps[0] : undefined
  if (!shown) throw new Error('no step')
  render(<ToolStep id="c1" step={shown} />)
  expect(screen.getByText(t('stepDone'))).toBeTruthy()
})

test.each([
  [{ tool: 'terminal', shown: { command: 'make' } }, 'Run a command'],
  [{ tool: 'python_repl', shown: {} }, 'Run Python code'],
  [{ tool: 'fetch_url', shown: {} }, 'Fetch a web page'],
  [{ tool: 'delete_file', shown: { path: 'memory/a.md' } }, 'Delete memory/a.md'],
  [{ tool: 'write_file', shown: { path: 'memory/a.md', diff: '@@\n+a\n' } }, 'Create memory/a.md'],
  [
    { tool: 'write_file', shown: { path: 'memory/a.md', diff: '@@\n+a\n', before: '0' } },
    'Change memory/a.md',
  ],
  [{ tool: 'create_file', shown: { path: 'project/scratch/a.md', diff: '@@\n+a\n' } }, 'Create scratch/a.md'],
  [{ tool: 'python', shown: {}, effect: 'execute' as const }, 'Run code'],
  [{ tool: 'fetch', shown: {}, effect: 'network' as const }, 'Access the network'],
  [{ tool: 'mcp_x', shown: {}, effect: 'write' as const }, 'Use mcp_x'],
])('a pending call of %o has a title', (over, title) => {
  const asked = { ...approval(), ...over } as Approval
  expect(kindOf(asked, t).title).toBe(title)
})

test('the default tool shows input and output', async () => {
  render(<defaultTool.Details id="c1" step={step} />)
  expect((await screen.findByRole('region', { name: 'Input' })).textContent).toContain('"city": "Lisbon"')
  expect(screen.getByRole('region', { name: 'Output' }).textContent).toContain('21 degrees')
})

test('code in the input is shown as code, and the rest as JSON', async () => {
  const given = { code: 'if a:\n    print("b")', timeout: 5 }
  render(<defaultTool.Details id="c1" step={{ ...step, tool: 'python_repl', arguments: given }} />)
  const input = await screen.findByRole('region', { name: 'Input' })
  expect(input.querySelector('pre')?.textContent).toBe(given.code)
  expect(screen.getByRole('region', { name: 'Input: timeout' }).textContent).toContain('"timeout": 5')
  // A code that is no text is not code.
  expect(codeIn('python_repl', { code: 1 })).toBeNull()
  expect(codeIn('toString', { code: 'x' })).toBeNull()
})

test('a call that read pictures shows them as their session keeps them', async () => {
  const picture = { media_type: 'image/png', hash: 'aa', bytes: 9, width: 640, height: 480 }
  const result = { data: { '/docs/a.png': { picture }, '/b.txt': { content: 'b' } } }
  const read: Step = { ...step, tool: 'read_file', arguments: { items: [{ path: '/docs/a.png' }] }, result }
  const { Details } = rendererOfTool('read_file')
  render(
    <Page sessionId="s">
      <Details id="c1" step={read} />
    </Page>,
  )
  const pictures = await screen.findByRole('list', { name: 'Images that were read' })
  const shown = within(pictures).getByRole('img', { name: '/docs/a.png' })
  expect(shown.getAttribute('src')).toBe('/api/sessions/s/pictures/aa')
  expect([shown.getAttribute('width'), shown.getAttribute('height')]).toEqual(['240', '180'])
  expect(within(pictures).getAllByRole('listitem')).toHaveLength(1)
})

test('the summary prefers the path of a call', () => {
  expect(defaultTool.summary(step)).toBe('Lisbon')
  expect(defaultTool.summary({ ...step, arguments: { path: 'memory/a.md' } })).toBe('memory/a.md')
})

test('a live text segment has a caret', () => {
  const shared = { id: 's', workId: 'w', running: true, writing: null }
  const { container } = render(
    <>
      <SegmentView {...shared} segment={{ kind: 'text', text: 'done' }} live={false} />
      <SegmentView {...shared} segment={{ kind: 'text', text: 'growing' }} live />
    </>,
  )
  expect([...container.querySelectorAll('.with-caret')].map(e => e.textContent)).toEqual(['growing'])
})
