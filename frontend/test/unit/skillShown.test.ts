import { expect, it } from 'vitest'
import { parse } from 'yaml'
import type { Skill } from '@/api/types'
import { frontMatterOf, problemsIn } from '@/features/skills/check'
import { breaks, shownProblems, wordsOf } from '@/features/skills/shown'
import { skillText } from '@/features/skills/template'
import { sayOfServer, setLang, t } from '@/lib/i18n'
import '@/lib/later'

const skill = (more: Partial<Skill>): Skill => ({
  ...{ name: 'tidy', description: 'd', location: 'skills/tidy/SKILL.md' },
  ...more,
})
const problems = (text: string) => problemsIn(text, 'tidy')
const codes = (...given: Parameters<typeof shownProblems>) =>
  shownProblems(...given).map(shown => (shown.kind === 'text' ? shown.problem.code : shown.said?.code))

const HIDDEN = { notes: ['Hidden files'], note_codes: [{ code: 'hidden', about: { path: '.x' } }] }

it('the problems of the text are shown with those that only the server sees', () => {
  const found = problems('---\nname: Tidy\ndescription: d\n---\n')
  const notes = { notes: ['form', 'Hidden files'], note_codes: [{ code: 'name_form' }, ...HIDDEN.note_codes] }
  expect(codes(found, skill(notes), true)).toEqual(['name_form', 'folder_name', 'hidden'])
  expect(codes([], skill(notes), false)).toEqual(['hidden'])
  expect(codes(found, undefined, false)).toEqual(['name_form', 'folder_name'])
})

it('the server decides whether a saved text breaks the skill, but not about an edited one', () => {
  const broken = problems('---\nname: tidy\ndescription: a: b\n---\n')
  expect(codes(broken, skill({}), true)).toEqual([])
  expect(codes(broken, skill({}), false)).toEqual(['not_yaml'])
  const refused = skill({ error: 'not valid YAML', error_code: { code: 'not_yaml' } })
  expect(codes([], refused, true)).toEqual(['not_yaml'])
  expect(codes([], refused, false)).toEqual([])
  expect(shownProblems([], refused, true).map(breaks)).toEqual([true])
  const unknown = skill({ error: 'A newer reason' })
  expect(shownProblems([], unknown, false).map(shown => wordsOf(shown, t, () => null))).toEqual([
    'A newer reason',
  ])
})

it('every problem has words in both languages', async () => {
  const found = problems('---\nname: Tidy\ndescription: d\n---\n')
  const shown = shownProblems(found, skill(HIDDEN), true)
  const words = (lang: 'en' | 'zh') =>
    shown.map(one => wordsOf(one, t, (key, about) => sayOfServer(lang, key, about)))
  expect(words('en')).toEqual([
    'Other agents only accept names of 1 to 64 characters of a–z, 0–9 and -.',
    'Other agents require the name to match the folder, tidy.',
    'Hidden files',
  ])
  await setLang('zh')
  for (const text of words('zh')) expect(text).toMatch(/\p{Script=Han}/u)
  await setLang('en')
})

it('a new SKILL.md keeps any description as one line', () => {
  for (const description of [
    'a: b',
    '"x"',
    "it's",
    '# no',
    '🦀 - [x] {y}',
    '---',
    'true',
    '1e3',
    '~',
    '\\n %',
    'a\n---\nname: b',
  ]) {
    const text = skillText({ name: '2048', description, instructions: '' })
    expect(problemsIn(text, '2048'), description).toEqual([])
    const found = frontMatterOf(text)
    expect(typeof found === 'string' || parse(found.yaml)).toEqual({
      name: '2048',
      description: description.replaceAll('\n', ' '),
    })
    expect(text).toMatch(/\n---\n\n# 2048\n$/)
  }
  expect(skillText({ name: 'a', description: 'd', instructions: ' Do it. \n' })).toBe(
    '---\nname: a\ndescription: d\n---\n\nDo it.\n',
  )
})
