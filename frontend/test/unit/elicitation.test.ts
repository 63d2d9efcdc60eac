import { describe, expect, it } from 'vitest'
import type { FormField } from '@/api/types'
import { addressParts, contentOf, initialOf, problemOf } from '@/features/approvals/elicitation'
import { withServer } from '@/features/mcp/switches'
import { type Key, translate, type Vars } from '@/lib/i18n'

const t = (key: Key, vars?: Vars) => translate('en', key, vars)
const field = (more: object): FormField => ({ name: 'x', label: 'X', type: 'text', ...more }) as FormField

describe('a form of an MCP server', () => {
  it('begins with the values that the server proposes', () => {
    const fields = [
      field({ name: 'a', default: 'Ada' }),
      field({ name: 'b', type: 'number', whole: true, default: 2 }),
      field({ name: 'c', type: 'boolean', default: true }),
      field({ name: 'd', type: 'choices', options: [], default: ['x'] }),
      field({ name: 'e', type: 'choice', options: [] }),
    ]
    expect(initialOf(fields)).toEqual({ a: 'Ada', b: '2', c: true, d: ['x'], e: '' })
  })

  it.each([
    [{ required: true }, '', 'Enter a value'],
    [{}, '', null],
    [{ min_length: 2 }, '企', 'Enter at least 2 characters'],
    [{ max_length: 1 }, 'ab', 'Enter at most 1 character'],
    [{ format: 'email' }, 'ada', 'Enter an email address'],
    [{ format: 'uri' }, 'ada', 'Enter an address with its scheme, such as https://'],
    [{ format: 'date' }, '2026-02-03', null],
    [{ type: 'number', whole: true }, '1.5', 'Enter a whole number'],
    [{ type: 'number', whole: false }, 'one', 'Enter a number'],
    [{ type: 'number', whole: false, minimum: 2 }, '1', 'Enter at least 2'],
    [{ type: 'number', whole: false, maximum: 2 }, '3', 'Enter at most 2'],
    [{ type: 'choices', options: [], min_items: 2 }, ['x'], 'Choose at least 2 options'],
    [{ type: 'choices', options: [], max_items: 1 }, ['x', 'y'], 'Choose at most 1 option'],
    [{ type: 'choices', options: [], required: true }, [], 'Choose at least 1 option'],
  ] as const)('says what does not fit: %j with %j', (more, value, problem) => {
    expect(problemOf(field(more), value, t)).toBe(problem)
  })

  it('sends numbers as numbers and leaves out what is empty', () => {
    const fields = [
      field({ name: 'a' }),
      field({ name: 'b', type: 'number', whole: true }),
      field({ name: 'c', type: 'boolean', default: false }),
      field({ name: 'd', type: 'choices', options: [] }),
    ]
    expect(contentOf(fields, { a: '', b: '3', c: false, d: [] })).toEqual({ b: 3, c: false })
  })

  it('sets off the host of an address', () => {
    expect(addressParts('https://a.example/b?a.example', 'a.example')).toEqual([
      'https://',
      'a.example',
      '/b?a.example',
    ])
  })
})

it('switches a server off and on in a conversation', () => {
  const off = withServer({ model: 'm' }, 'pets', false)
  expect(off).toEqual({ model: 'm', mcp_off: ['pets'] })
  expect(withServer(off, 'pets', true)).toEqual({ model: 'm' })
})
