import { describe, expect, it } from 'vitest'
import {
  BROKEN,
  DESCRIPTION_LIMIT,
  IMPERFECT,
  lengthOf,
  NAME_LIMIT,
  problemsIn,
} from '@/features/skills/check'
import { fixOf, slugOf } from '@/features/skills/fixes'
import { rustSource } from '../rust'

const codes = (text: string, folder = 'tidy') => problemsIn(text, folder).map(({ code }) => code)
const lines = (text: string, folder = 'tidy') =>
  problemsIn(text, folder).map(({ code, line }) => [code, line])
const skill = (...fields: string[]) => `---\n${fields.map(field => `${field}\n`).join('')}---\n\nDo it.\n`
const OK = skill('name: tidy', 'description: Tidies up')
/** The text after the fix of its first problem. */
const fixed = (text: string, folder = 'tidy') => {
  const [problem] = problemsIn(text, folder)
  return problem ? (fixOf(problem.code, text, folder)?.text ?? null) : text
}

describe('the check of a SKILL.md', () => {
  it('knows every code that the server gives to a text, and its limits', () => {
    const made = [...rustSource('skills/message.rs').matchAll(/Self::new\("([a-z0-9_]+)"/g)].map(
      ([, code]) => code,
    )
    // These are not found in the text alone: bytes that are no text, and a skill with the same name.
    expect([...BROKEN, ...IMPERFECT, 'not_utf8', 'name_taken'].sort()).toEqual(made.sort())
    const rules = rustSource('skills/mod.rs')
    expect(rules).toContain(`DESCRIPTION_CHARACTERS: usize = ${DESCRIPTION_LIMIT}`)
    expect(rules).toContain(`NAME_CHARACTERS: usize = ${NAME_LIMIT}`)
  })

  it('finds nothing in a good skill, however it is written', () => {
    expect(codes(OK)).toEqual([])
    expect(codes(`\ufeff${OK.replaceAll('\n', '\r\n')}`)).toEqual([])
    expect(
      codes('--- \nname: get-weather\ndescription: >\n  Two\n  lines\nmetadata: {a: 1}\n---', 'get_weather'),
    ).toEqual([])
    expect(codes(skill('name: 2048', 'description: true'), '2048')).toEqual([])
  })

  it('says which line of the file is meant', () => {
    expect(lines('# Tidy\n')).toEqual([['no_front_matter', 1]])
    expect(lines('---\nname: tidy\n\nDo it.\n')).toEqual([['not_closed', 1]])
    expect(lines('---')).toEqual([['not_closed', 1]])
    expect(lines(skill('name: tidy', 'description: first: second'))).toEqual([['not_yaml', 3]])
    expect(lines(skill('name: tidy', 'description: "open'))).toEqual([['not_yaml', 3]])
    expect(lines(skill('- a'))).toEqual([['not_fields', 2]])
    expect(lines(skill('license: MIT', 'description:'))).toEqual([
      ['no_name', null],
      ['no_description', 3],
    ])
    const long = skill('description: x', `name: ${'N'.repeat(65)}`, 'metadata: none')
    expect(lines(long)).toEqual([
      ['metadata', 4],
      ['long_name', 3],
      ['name_form', 3],
      ['folder_name', 3],
    ])
    expect(lines(skill('name: tidy', `description: ${'🦀'.repeat(1025)}`))).toEqual([['long_description', 3]])
    expect(problemsIn(skill('code: 1', 'about: 2', 'line: 3'), 'tidy').map(({ code }) => code)).toEqual([
      'no_name',
      'no_description',
    ])
  })

  it('survives hostile YAML', () => {
    const bomb = Array.from(
      { length: 9 },
      (_, n) => `a${n + 1}: &a${n + 1} [${Array(9).fill(`*a${n}`).join()}]`,
    )
    for (const yaml of [['a0: &a0 [x]', ...bomb].join('\n'), `name: ${'['.repeat(20_000)}`, 'name: *none'])
      expect(codes(skill(yaml))).toEqual(['not_yaml'])
    expect(codes(skill(`name: ${'x'.repeat(70_000)}`))).toEqual(['too_long'])
  })
})

describe('a fix', () => {
  it('adds a front matter with the name of the folder, and puts the cursor at the description', () => {
    const fix = fixOf('no_front_matter', '\n# Tidy\n', 'get_weather')
    expect(fix?.text).toBe('---\nname: get-weather\ndescription: \n---\n\n# Tidy\n')
    expect(fix?.text.slice(0, fix.cursor ?? 0)).toBe('---\nname: get-weather\ndescription: ')
  })

  it('uses a front matter that is there, but not at the top or without its lines', () => {
    expect(fixed(`\n\n${OK}`)).toBe(OK)
    expect(fixed('name: tidy\ndescription: Tidies up\n\nDo it.\n')).toBe(OK)
  })

  it('closes the front matter after its last field', () => {
    expect(fixed('---\nname: tidy\ndescription: >\n  Tidies\n  up\n# Tidy\n')).toBe(
      '---\nname: tidy\ndescription: >\n  Tidies\n  up\n---\n# Tidy\n',
    )
    expect(fixed('---\nname: tidy')).toBe('---\nname: tidy\n---\n')
    expect(fixed('---\r\nname: tidy\r\ndescription: d\r\n\r\nDo it.\r\n')).toBe(
      '---\r\nname: tidy\r\ndescription: d\r\n---\r\n\r\nDo it.\r\n',
    )
    expect(fixed('---\n# Tidy\n')).toBeNull()
  })

  it('quotes a value that is not YAML by itself, and replaces tabs', () => {
    expect(fixed(skill('name: tidy', 'description: Use it: often, "always"'))).toBe(
      skill('name: tidy', 'description: "Use it: often, \\"always\\""'),
    )
    expect(fixed(skill('name: tidy', 'description: @home'))).toBe(skill('name: tidy', 'description: "@home"'))
    expect(fixed(skill('name: tidy', 'description: d', 'metadata:', '\tversion: 1'))).toBe(
      skill('name: tidy', 'description: d', 'metadata:', '  version: 1'),
    )
    for (const unclear of ['name: other', 'allowed-tools: [a', 'description: "open'])
      expect(fixed(skill('name: tidy', 'description: d', unclear)), unclear).toBeNull()
  })

  it('sets the name to that of the folder', () => {
    expect(fixed(skill('description: d'))).toBe(skill('name: tidy', 'description: d'))
    expect(fixed(skill('name:', 'description: d'))).toBe(skill('name: tidy', 'description: d'))
    expect(fixed(skill('description: d', 'name: Tidy Up! # mine'))).toBe(
      skill('description: d', 'name: tidy # mine'),
    )
    expect(fixed(skill('name: "Other"', 'description: d'))).toBe(skill('name: tidy', 'description: d'))
    expect(fixed(skill(`name: ${'n'.repeat(80)}`, 'description: d'))).toBe(
      skill('name: tidy', 'description: d'),
    )
    // The name of this folder would be a problem in itself.
    expect(fixed(skill('name: weather', 'description: d'), '天气')).toBeNull()
    expect(fixed(skill('name: x', 'description: d'), '2048')).toBe(skill('name: "2048"', 'description: d'))
    expect(fixed(skill('name: [a]', 'description: d'))).toBeNull()
  })

  it('makes a name of the letters that all agents accept if the folder has no such name', () => {
    expect(fixed(skill('name: Café Weather', 'description: d'), '天气')).toBe(
      skill('name: cafe-weather', 'description: d'),
    )
    expect(fixOf('name_form', skill('name: 天气', 'description: d'), '天气')).toBeNull()
    expect(slugOf('--A  b_c--')).toBe('a-b-c')
  })

  it('makes room for a description that only a person can write', () => {
    const at = (text: string) => {
      const fix = fixOf('no_description', text, 'tidy')
      return fix && `${fix.text.slice(0, fix.cursor ?? 0)}|${fix.text.slice(fix.cursor ?? 0)}`
    }
    expect(at(skill('name: tidy', 'license: MIT'))).toBe(
      skill('name: tidy', 'description: |', 'license: MIT'),
    )
    expect(at(skill('license: MIT'))).toBe(skill('description: |', 'license: MIT'))
    expect(at(skill('name: >', '  tidy'))).toBe(skill('description: |', 'name: >', '  tidy'))
    expect(at(skill('name: tidy', 'description:'))).toBe(skill('name: tidy', 'description: |'))
    expect(at(skill('name: tidy', "description: ''"))).toBe(skill('name: tidy', "description: '|'"))
    expect(at(skill('name: tidy', 'description: [a]'))).toBeNull()
    expect(fixOf('no_description', skill('name: tidy'), 'tidy')?.kind).toBe('write')
  })

  it('fills an empty front matter, and leaves alone what it does not understand', () => {
    expect(fixed('---\n---\nDo it.\n')).toBe('---\nname: tidy\ndescription: \n---\nDo it.\n')
    expect(fixed(skill('- a'))).toBeNull()
    expect(fixOf('metadata', skill('name: tidy', 'description: d', 'metadata: none'), 'tidy')).toBeNull()
    const long = skill('name: tidy', `description: ${'x'.repeat(1025)}`)
    expect(fixOf('long_description', long, 'tidy')).toBeNull()
    expect(lengthOf('🦀')).toBe(1)
  })
})
