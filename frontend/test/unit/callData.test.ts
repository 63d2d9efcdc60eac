import { expect, it } from 'vitest'
import { chainWords } from '@/features/chat/chainWords'
import { rendererOfTool } from '@/features/chat/tools'
import { failedItems, picturesOf, ranCommands } from '@/features/chat/tools/callData'
import { t } from '@/lib/i18n'
import type { Step } from '@/thread/model'

const step = (tool: string, args: unknown, data?: unknown): Step => ({
  ...{ id: 'c', tool, input: 'in', arguments: args, output: '', result: { data } },
  ...{ status: 'done', durationMs: 1, verdict: null, undone: false },
})
const titleOf = (one: Step): [string | null, string] => {
  const { title, summary } = rendererOfTool(one.tool)
  return [title?.(one, t) ?? null, summary(one)]
}

it.each([
  ['create_file', { items: [{ path: 'a' }, { path: 'b' }] }, 'Create 2 files', 'a, b'],
  ['create_file', { path: 'memory/a.md' }, null, 'memory/a.md'],
  ['delete_file', { paths: ['a'] }, 'Delete 1 file', 'a'],
  ['move_file', { items: [{ from: 'a', to: 'b' }] }, 'Move 1 file', 'a'],
  ['read_file', 'not an object', null, 'in'],
  ['bash', { commands: [{ instruction: 'ls' }, { instruction: 'pwd' }] }, 'Run 2 commands', 'ls ; pwd'],
  ['bash', { commands: [{ instruction: 'ls' }], background: true }, 'Run 1 command in the background', 'ls'],
  ['bash', { job: 'job1' }, 'Check job1', ''],
  ['bash', { job: 'job1', stop: true }, 'Stop job1', ''],
  ['search_files', { pattern: 'fn', glob: '*.rs' }, 'Search “fn”', '*.rs'],
  ['list_files', {}, 'List /', ''],
  ['create_todolist', { titles: ['a', 'b'], name: 'N' }, 'To-do list: 2 tasks', 'N'],
  ['done_todo', { item_ids: ['TD_001'] }, 'Complete 1 task', 'TD_001'],
])('%s %j is named in words', (tool, args, title, summary) => {
  expect(titleOf(step(tool, args))).toEqual([title, summary])
})

it('items that failed have their names and reasons', () => {
  const failed_details = [{ file_path: '/a', reason: 'exists' }, { command_index: 1 }, { command_index: 9 }]
  const args = { commands: [{ instruction: 'one' }, { instruction: 'two' }] }
  expect(failedItems(step('bash', args, { summary: { failed_details } }))).toEqual([
    { name: '/a', reason: 'exists' },
    { name: 'two', reason: '' },
  ])
  expect(failedItems(step('bash', args))).toEqual([])
})

it('pictures that were read are those that their session keeps', () => {
  const picture = { media_type: 'image/png', hash: 'a/b', bytes: 9, width: 3, height: 2 }
  const data = {
    '/x.png': { content: null, picture },
    '/a.txt': { content: 'a' },
    '/odd.png': { picture: { ...picture, width: 'wide' } },
    '/none.png': { picture: { ...picture, height: 0 } },
    summary: { total_files: 4 },
  }
  const kept = { hash: 'a/b', url: '/api/sessions/s%20s/pictures/a%2Fb' }
  expect(picturesOf(step('read_file', {}, data), 's s')).toEqual([
    {
      ...{ name: '/x.png', extension: '', content: '' },
      picture: { type: 'image/png', kept, bytes: 9, width: 3, height: 2 },
    },
  ])
  expect(picturesOf(step('fetch_url', {}, data), 's')).toEqual([])
  expect(picturesOf(step('read_file', {}), 's')).toEqual([])
})

it('a command that was skipped has no exit code', () => {
  const args = { commands: [{ instruction: 'one' }, { instruction: 'two' }] }
  const ran = ranCommands(
    step('bash', args, { commands: [{ instruction: 'one', exit_code: 3, output: 'x' }] }),
  )
  expect(ran?.map(({ instruction, exitCode }) => [instruction, exitCode])).toEqual([
    ['one', 3],
    ['two', null],
  ])
  expect(ranCommands(step('bash', args))).toBeNull()
})

it('a chain counts files and commands, not calls', () => {
  const steps = [
    step('create_file', { items: [{ path: 'a' }, { path: 'b' }] }),
    step('edit_file', { path: 'a' }),
    step('bash', { commands: [{ instruction: 'ls' }, { instruction: 'pwd' }] }),
  ]
  expect(chainWords(steps, t)).toBe('Changed 2 files, ran 2 commands')
})
