import { expect, it } from 'vitest'
import { translate } from '@/lib/i18n'
import { en } from '@/locales/en'
import { zh } from '@/locales/zh'

const places = (text: string): string[] => (text.match(/\{\w+\}/g) ?? []).sort()

it('both languages fill in the same places', () => {
  for (const [key, text] of Object.entries(en))
    expect(places(zh[key as keyof typeof en]), key).toEqual(places(text))
})

it('no text is empty, and what is the same in both is a name', () => {
  for (const [key, text] of Object.entries(zh)) expect(text, key).not.toBe('')
  const same = Object.entries(en).filter(([key, text]) => zh[key as keyof typeof en] === text)
  expect(same.map(([key]) => key).sort()).toEqual(['appName', 'percent'])
})

it('fills in what is given', () => {
  expect(translate('en', 'steps', { n: 4 })).toBe('4 steps')
  expect(translate('zh', 'steps', { n: 4 })).toBe('4 步')
})
