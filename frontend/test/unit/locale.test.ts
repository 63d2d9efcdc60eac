import { afterAll, expect, it } from 'vitest'
import { compactCount, compactNumber, count, duration, fixed, kilobytes } from '@/lib/format'
import { type Lang, setLang, t, translate } from '@/lib/i18n'
import { LOCALES, type Locale } from '@/locales'

/** A language that the page does not have: an entry, and some words of its folder. */
const words = {
  tokens: '{n} {n|Token|Tokens}',
  score: 'Wert {n}',
  compressTokens: '{before} jetzt, {after} {after|Token|Tokens} danach',
  line: 'Zeile {a}',
}
const entry: Locale = {
  ...{ name: 'Deutsch', tag: 'de', thousands: '.', decimal: ',' },
  load: async () => ({ words: words as never, server: {} }),
}
const de = 'de' as Lang
Object.assign(LOCALES, { de: entry })
afterAll(() => setLang('en'))

const written = () => [
  ...[count(1), count(999), count(1234567), count(-1234)],
  ...[compactCount(1234), compactCount(12_345), compactCount(2_500_000), fixed(1234.5, 2)],
  ...[duration(1500), duration(12), kilobytes(1_536), kilobytes(2_000_000)],
]

it('numbers are written as the entry of the language says', async () => {
  expect(written()).toEqual([
    ...['1', '999', '1,234,567', '-1,234', '1.2k', '12k', '2.5M', '1,234.50'],
    ...['1.5 s', '12 ms', '1.5 KB', '1,953 KB'],
  ])
  await setLang(de)
  expect(document.documentElement.lang).toBe('de')
  expect(written()).toEqual([
    ...['1', '999', '1.234.567', '-1.234', '1,2k', '12k', '2,5M', '1.234,50'],
    ...['1,5 s', '12 ms', '1,5 KB', '1.953 KB'],
  ])
})

it('a text gets numbers, writes them and chooses its forms by them', async () => {
  await setLang(de)
  expect(t('tokens', { n: 1 })).toBe('1 Token')
  // The number 1.001 written in German is no fraction, and not one.
  expect(t('tokens', { n: 1001 })).toBe('1.001 Tokens')
  expect(t('score', { n: 0.5 })).toBe('Wert 0,5')
  expect(t('line', { a: '1234' })).toBe('Zeile 1234')
  const tokens = { before: compactNumber(12_345), after: compactNumber(1) }
  expect(t('compressTokens', tokens)).toBe('12k jetzt, 1 Token danach')
})

it('a text that the language lacks is English, in its forms and its numbers', async () => {
  await setLang(de)
  expect(t('bytes', { n: 1024 })).toBe('1,024 bytes')
  expect(translate('zh', 'bytes', { n: 1024 })).toContain('1,024')
})
