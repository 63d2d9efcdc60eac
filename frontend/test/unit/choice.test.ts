import { expect, it } from 'vitest'
import type { ModelCandidate, Models } from '@/api/types'
import { canThink, effective, nameOf, withModel } from '@/features/model/choice'
import { advance } from '@/thread/advance'
import { fromHistory } from '@/thread/history'
import { emptyThread } from '@/thread/model'
import { historyAt } from './frames'

const candidate = (id: string, thinking = false): ModelCandidate => ({
  ...{ id, name: id, thinking, provider: id.split('/')[0] ?? '', model: id.split('/')[1] ?? '', label: id },
  ...{ from: '.env', context_window: 1, vision: false },
})
const models: Models = {
  current: {
    ...{
      provider: 'a',
      model: 'one',
      label: 'One',
      state: 'ready',
      small: false,
      context_window: 1,
      vision: false,
    },
  },
  default_id: 'a/one',
  favorites: [],
  available: [candidate('a/one'), candidate('b/two', true), candidate('c/three@host:1')],
}

it('a choice matches by id, or without the address that distinguishes duplicates', () => {
  const found = (model: string | null) => {
    const choice = effective(models, { model })
    return choice.kind === 'gone' ? `gone ${choice.id}` : `${choice.kind} ${choice.candidate?.id}`
  }
  expect([null, 'b/two', 'c/three', 'd/four'].map(found)).toEqual([
    'default a/one',
    'chosen b/two',
    'chosen c/three@host:1',
    'gone d/four',
  ])
})

it('the choice for thinking is dropped if the model has no switch', () => {
  expect([{}, { model: 'b/two' }, { model: 'd/four' }].map(c => canThink(models, c))).toEqual([
    false,
    true,
    false,
  ])
  expect(withModel(models, { thinking: true }, 'b/two')).toEqual({ model: 'b/two', thinking: true })
  expect(withModel(models, { model: 'b/two', thinking: true }, 'a/one')).toEqual({ model: 'a/one' })
})

it('the models of one server have distinct names', () => {
  const found = { ...candidate('ollama/qwen3'), model: 'qwen3', label: 'Ollama', from: 'found here' }
  expect(nameOf(found)).toBe('Ollama qwen3')
  expect(nameOf({ ...found, label: 'DeepSeek qwen3' })).toBe('DeepSeek qwen3')
  expect(nameOf({ ...found, label: 'My own', from: 'config.yml' })).toBe('My own')
})

it('an answer names the model that was asked, from the history and from the stream', () => {
  const began = advance(emptyThread('s'), {
    ...{ type: 'user_message', work_id: 'w', message_id: 'm', content: 'hi', model: 'two' },
  })
  expect(began.entries[1]).toMatchObject({ kind: 'assistant', model: 'two' })
  const changed = advance(began, { type: 'model', work_id: 'w', model: 'spare', instead_of: 'two' })
  expect(changed.entries[1]).toMatchObject({ model: 'spare', insteadOf: 'two' })
  const history = {
    ...historyAt(0),
    works: [{ work_id: 'w', model: 'two', instead_of: 'one', left_out: 4 }],
    chosen: { model: 'b/two' },
    messages: [
      { role: 'user' as const, content: 'hi', id: 'm', work_id: 'w' },
      { role: 'assistant' as const, content: 'ho', id: 'a', work_id: 'w' },
    ],
  }
  const read = fromHistory(history)
  expect(read.entries[1]).toMatchObject({ kind: 'assistant', model: 'two', insteadOf: 'one', leftOut: 4 })
  expect(read.chosen).toEqual({ model: 'b/two' })
  expect(advance(read, { type: 'chosen', chosen: { thinking: true } }).chosen).toEqual({ thinking: true })
})

it('a new model keeps what does not concern it', () => {
  expect(withModel(models, { thinking: true, auto_compact: 'on' }, 'a/one')).toEqual({
    model: 'a/one',
    auto_compact: 'on',
  })
})
