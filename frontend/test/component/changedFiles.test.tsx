import { render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, it, vi } from 'vitest'
import { ChangedFiles } from '@/features/chat/ChangedFiles'
import { type Change, changesOf } from '@/features/chat/changes'
import type { AssistantEntry, Step } from '@/thread/model'

let calls = 0
const change = (path: string, more: Partial<Change> = {}): Change => ({
  callId: `c${calls++}`,
  path,
  added: 1,
  removed: 1,
  undone: false,
  deleted: false,
  together: 1,
  more: 0,
  ...more,
})
function show(...changes: Change[]) {
  const onReview = vi.fn()
  render(
    <ChangedFiles
      changes={changes}
      onShow={() => {}}
      onReview={onReview}
      onUndo={() => {}}
      onUndoAll={null}
    />,
  )
  return onReview
}
const buttons = () => screen.getAllByRole('listitem').map(row => row.textContent?.match(/Review|Undo|Redo/g))

it('a changed file can be reviewed, by a button that names it', async () => {
  const onReview = show(change('memory/a.md'))
  await userEvent.click(screen.getByRole('button', { name: 'Review memory/a.md' }))
  expect(onReview).toHaveBeenCalledWith('memory/a.md')
})

it('a file that was changed several times is reviewed once, at its last change that stands', () => {
  show(
    change('memory/a.md'),
    change('memory/b.md'),
    change('memory/a.md'),
    change('memory/a.md', { undone: true }),
  )
  expect(buttons()).toEqual([['Undo'], ['Review', 'Undo'], ['Review', 'Undo'], ['Redo']])
})

it('there is nothing to review in a deleted file, and in none that the editor cannot open', () => {
  show(change('memory/a.md'), change('memory/a.md', { deleted: true }), change('elsewhere/b.md'))
  expect(buttons()).toEqual([['Undo'], ['Undo'], ['Undo']])
})

it('the tool of the call says whether the file was deleted', () => {
  const step = (id: string, tool: string) => {
    const data = { path: `memory/${id}.md`, added: 0, removed: 1, undo: true }
    return { id, tool, status: 'done', undone: false, result: { data } } as Step
  }
  const steps = [step('a', 'edit_file'), step('b', 'delete_file')]
  const changes = changesOf({ segments: [{ kind: 'tools', steps }] } as unknown as AssistantEntry)
  expect(changes.map(({ path, deleted }) => [path, deleted])).toEqual([
    ['memory/a.md', false],
    ['memory/b.md', true],
  ])
})

it('the files of one call are undone together, also if the call failed in part', () => {
  const files = [
    { path: 'project/scratch/a.txt', added: 1, removed: 0, deleted: false },
    { path: 'project/scratch/b.txt', added: 0, removed: 2, deleted: true },
  ]
  const result = { status: 1, data: { undo: true, changes: files, '/c.txt': 'create fail [exists]' } }
  const step = { id: 'c', tool: 'create_file', status: 'error', undone: false, result } as unknown as Step
  const changes = changesOf({ segments: [{ kind: 'tools', steps: [step] }] } as unknown as AssistantEntry)
  show(...changes)
  expect(screen.getAllByRole('listitem').map(row => row.textContent)).toEqual([
    'scratch/a.txt+1 −0Review scratch/a.txtUndo 2 files',
    'scratch/b.txt+0 −2',
  ])
})

it('a command has no counts of lines, and its files that are not listed lead to all changes', async () => {
  const listed = ['a', 'b'].map(name => ({ path: `project/scratch/${name}`, added: 0, removed: 0 }))
  const result = { data: { undo: true, changes: listed, changed_count: 300 } }
  const step = { id: 'c', tool: 'terminal', status: 'done', undone: false, result } as unknown as Step
  const changes = changesOf({ segments: [{ kind: 'tools', steps: [step] }] } as unknown as AssistantEntry)
  const onShow = vi.fn()
  const none = () => {}
  render(<ChangedFiles changes={changes} onShow={onShow} onReview={none} onUndo={none} onUndoAll={null} />)
  expect(screen.getByRole('heading').textContent).toBe('300 files changed')
  expect(screen.getAllByRole('listitem').map(row => row.textContent)).toEqual([
    ...['scratch/aReview scratch/aUndo 300 files', 'scratch/bReview scratch/b', '298 more files'],
  ])
  await userEvent.click(screen.getByRole('button', { name: '298 more files' }))
  expect(onShow).toHaveBeenCalledOnce()
})
