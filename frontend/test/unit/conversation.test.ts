import { expect, it } from 'vitest'
import { ApiError } from '@/api/client'
import {
  changed,
  changeOf,
  chosenWith,
  lengthOf,
  problemsIn,
  refusedField,
  type Values,
  valuesOf,
} from '@/features/conversation/values'

const UNSET: Values = {
  ...{ title: '', model: '', system_prompt: '', temperature: '', max_tokens: '', thinking_enabled: '' },
  project_id: '',
}

it('what nobody chose is empty, and 0 and “off” are not', () => {
  expect(valuesOf('', {}, null)).toEqual(UNSET)
  expect(valuesOf('', { model: null, temperature: null, thinking: null }, null)).toEqual(UNSET)
  expect(valuesOf('A', { temperature: 0, max_tokens: 1, thinking: false }, 'p')).toEqual({
    ...UNSET,
    ...{ title: 'A', temperature: '0', max_tokens: '1', thinking_enabled: 'off', project_id: 'p' },
  })
})

it('only what differs is an edit, and an empty text resets its value', () => {
  const values = valuesOf('A', { temperature: 0.7, system_prompt: 'Be brief.' }, 'scratch')
  const typed = { title: 'A', temperature: '', system_prompt: 'Be brief.', max_tokens: '100' }
  const edits = changed(typed, values)
  expect(edits).toEqual({ temperature: '', max_tokens: '100' })
  expect(changeOf(edits)).toEqual({ temperature: null, max_tokens: 100 })
  expect(changeOf({ title: ' ', model: '', thinking_enabled: 'off', project_id: '' })).toEqual({
    ...{ title: null, model: null, thinking_enabled: false, project_id: null },
  })
  expect(changeOf({ temperature: '0', thinking_enabled: '' })).toEqual({
    temperature: 0,
    thinking_enabled: null,
  })
  expect(changeOf({})).toEqual({})
})

it('a change is applied to what is chosen, and leaves the rest', () => {
  const chosen = { permission_mode: 'ask', temperature: 0.7, model: 'a/one' } as const
  expect(chosenWith(chosen, { temperature: null, thinking_enabled: true, title: 'B' })).toEqual({
    ...{ permission_mode: 'ask', temperature: null, model: 'a/one', thinking: true },
  })
})

it.each([
  ['temperature', '0'],
  ['temperature', '2'],
  ['temperature', '.5'],
  ['temperature', ' 1.5 '],
  ['temperature', ''],
  ['max_tokens', '1'],
  ['max_tokens', '4294967295'],
  ['system_prompt', '好'.repeat(20_000)],
  ['system_prompt', '😀'.repeat(20_000)],
  ['title', 'x'.repeat(255)],
] as const)('the server accepts %s “%.12s”', (field, text) => {
  expect(problemsIn({ [field]: text })).toEqual({})
})

it.each([
  ['temperature', '2.1'],
  ['temperature', '-1'],
  ['temperature', '0,7'],
  ['temperature', '1e1'],
  ['temperature', 'hot'],
  ['max_tokens', '0'],
  ['max_tokens', '1.5'],
  ['max_tokens', '4294967296'],
  ['system_prompt', 'x'.repeat(20_001)],
  ['title', 'x'.repeat(256)],
] as const)('a wrong %s “%.12s” is explained before it is sent', (field, text) => {
  expect(Object.keys(problemsIn({ [field]: text, model: 'm' }))).toEqual([field])
})

it('characters are counted as the server counts them', () => {
  expect([lengthOf('a好😀'), lengthOf('')]).toEqual([3, 0])
})

it('a refusal is shown at the field that it concerns', () => {
  const refused = (reason: string, message: string) => new ApiError(400, { code: 400, message, reason })
  const all = changeOf({ ...UNSET, temperature: '1' })
  const fieldOf = (reason: string, message: string) => refusedField(refused(reason, message), all)
  expect(fieldOf('unknown_model', 'no such model')).toBe('model')
  expect(fieldOf('busy', 'the session is busy')).toBe('project_id')
  expect(fieldOf('not_found', 'project not found')).toBe('project_id')
  expect(fieldOf('not_found', 'conversation not found')).toBeNull()
  expect(fieldOf('too_long', 'a title has at most 255 characters')).toBe('title')
  expect(fieldOf('bad_choice', 'a temperature is a number from 0 to 2')).toBe('temperature')
  expect(fieldOf('bad_choice', 'max_tokens is at least 1')).toBe('max_tokens')
  expect(fieldOf('disk_full', 'no space left')).toBeNull()
  expect(refusedField(refused('busy', 'busy'), { title: 'A' })).toBeNull()
  expect(refusedField(new Error('max_tokens'), all)).toBeNull()
})
