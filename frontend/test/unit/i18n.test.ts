import { expect, it } from 'vitest'
import { translate } from '@/lib/i18n'
import { choosePlurals } from '@/lib/plural'
import { LANGS, type Lang, langOf, localeOf } from '@/locales'
import { en as first } from '@/locales/en'
import { later } from '@/locales/en/later'
import { zh } from '@/locales/zh'

const en = { ...first, ...later }

type Area = Record<string, Record<string, string>>
const areas = (found: Record<string, Area>): Record<string, string>[] =>
  Object.entries(found)
    .filter(([path]) => !/\/(index|later|server|causes)\.ts$/.test(path))
    .flatMap(([, area]) => Object.values(area))
const files = import.meta.glob<Area>('../../src/locales/*/*.ts', { eager: true })
const areasOf = (lang: Lang) =>
  areas(Object.fromEntries(Object.entries(files).filter(([path]) => path.includes(`/${lang}/`))))

/** The words of every language but the first, which the others are compared with. */
const others = await Promise.all(
  LANGS.flatMap(lang => {
    const { load } = localeOf(lang)
    return load ? [load().then(({ words }) => [lang, words] as const)] : []
  }),
)

const places = (text: string): string[] => (text.match(/\{\w+\}/g) ?? []).sort()

it('all languages have the same placeholders', () => {
  expect(others.length).toBeGreaterThan(0)
  for (const [lang, words] of others)
    for (const [key, text] of Object.entries(en))
      expect(places(words[key as keyof typeof en]), `${lang}: ${key}`).toEqual(places(text))
})

it('a text is in one area only, and every area is used', () => {
  for (const [lang, whole] of [['en', en] as const, ...others]) {
    const keys = areasOf(lang).flatMap(area => Object.keys(area))
    expect(keys.sort(), lang).toEqual(Object.keys(whole).sort())
  }
})

it('no text is empty, and a text that is the same in both languages is a name', () => {
  for (const [key, text] of Object.entries(zh)) expect(text, key).not.toBe('')
  const same = Object.entries(en).filter(([key, text]) => zh[key as keyof typeof en] === text)
  expect(same.map(([key]) => key).sort()).toEqual(['appName', 'git', 'percent'])
})

it('placeholders are filled in', () => {
  expect(translate('en', 'steps', { n: 4 })).toBe('4 steps')
  expect(translate('zh', 'steps', { n: 4 })).toBe('4 个步骤')
})

/** English texts with a count before a word that is always plural. */
const alwaysPlural = (texts: [string, string][]): string[] =>
  texts
    .map(([key, text]) => [key, text.replace(/\{\w+\|[^|]*\|(?:[^{}]|\{\w+\})*\}/g, '')])
    .filter(([, text]) =>
      /\{(n|all|total|before|after|window|limit|texts)\} (\w+ )?[a-z]{3,}s\b/.test(text ?? ''),
    )
    .map(([key]) => key ?? '')

it('what is counted in English has a singular form', () => {
  expect(alwaysPlural(Object.entries(en))).toEqual([])
  expect(alwaysPlural([['wrong', '{n} messages compacted']])).toEqual(['wrong'])
})

it('a number chooses its form, which may contain a placeholder', () => {
  expect(translate('en', 'bytes', { n: 1 })).toBe('1 byte')
  expect(translate('en', 'bytes', { n: 1024 })).toBe('1,024 bytes')
  expect(translate('en', 'steps', { n: 0 })).toBe('0 steps')
  expect(translate('en', 'termTimes', { times: 2, texts: 1 })).toBe('2× here, in no other passage')
  expect(translate('en', 'termTimes', { times: 2, texts: 3 })).toBe('2× here, in 3 passages')
  expect(translate('zh', 'bytes', { n: 1 })).not.toContain('|')
})

it('a number in its own words, and a text, choose their forms', () => {
  expect(translate('en', 'tokens', { n: { n: 1, text: '≈ 1' } })).toBe('≈ 1 token')
  expect(translate('en', 'tokens', { n: { n: 1200, text: '1.2k' } })).toBe('1.2k tokens')
  expect(translate('en', 'line', { a: '1234' })).toBe('line 1234')
})

it('an inserted value is not parsed as a placeholder', () => {
  expect(translate('en', 'deleted', { title: '{n|a|b} {title}' })).toBe('Deleted “{n|a|b} {title}”')
})

it('a tag selects its language, and English if there is none', () => {
  expect(['zh', 'zh-TW', 'ZH-Hant', 'en-GB', 'fr', ''].map(langOf)).toEqual([
    'zh',
    'zh',
    'zh',
    'en',
    'en',
    'en',
  ])
})

it('the plural form follows the rules of the language', () => {
  const forms = (tag: string, list: string) => (n: number) => choosePlurals(`{n|${list}}`, tag, () => n)
  expect([1, 2, 5, 22, 1.5].map(forms('pl', 'plik|pliki|plików|pliku'))).toEqual([
    'plik',
    'pliki',
    'plików',
    'pliki',
    'pliku',
  ])
  expect([0, 1, 1001, 21].map(forms('en', 'one|other'))).toEqual(['other', 'one', 'other', 'other'])
  expect(forms('zh', '个')(1)).toBe('个')
})
