import { expect, it } from 'vitest'
import { argumentsOf, fieldsOf } from '@/features/approvals/fields'

it('strings are edited as they are, the rest as JSON, and both round-trip', () => {
  const args = { command: 'echo "a"\necho b', timeout: 60, env: { A: '1' }, dry: false, cwd: null }
  const fields = fieldsOf(args)
  expect(fields[0]).toEqual({ name: 'command', text: 'echo "a"\necho b', json: false })
  expect(fields[1]).toEqual({ name: 'timeout', text: '60', json: true })
  expect(argumentsOf(fields)).toEqual({ value: args })
})

it('arguments that are not an object are one field', () => {
  for (const args of ['ls', 3, null, ['a', 'b']]) expect(argumentsOf(fieldsOf(args))).toEqual({ value: args })
})

it('a field that is not JSON gives no arguments', () => {
  expect(argumentsOf([{ name: 'timeout', text: '6o', json: true }])).toBeNull()
})
