/** The languages of the page. A new one needs a folder and an entry here. */
import type { Separators } from '@/lib/number'
import type { Words } from './en'

export interface Messages {
  words: Record<keyof Words, string>
  /** Translations of the server's English texts, by code. */
  server: Record<string, string>
}

/** An entry has all that the page asks of a language; no other code knows one. */
export interface Locale extends Separators {
  /** The language's name for itself. */
  name: string
  /** BCP 47 tag: for dates, plurals and the page's `lang`. */
  tag: string
  /** Null for the language that is loaded from the start. */
  load: (() => Promise<Messages>) | null
}

export const LOCALES = {
  en: { name: 'English', tag: 'en', thousands: ',', decimal: '.', load: null },
  zh: {
    name: '中文',
    tag: 'zh-CN',
    thousands: ',',
    decimal: '.',
    load: () => import('./zh').then(({ zh: words, server }) => ({ words, server })),
  },
} as const satisfies Record<string, Locale>

export type Lang = keyof typeof LOCALES

export const LANGS = Object.keys(LOCALES) as Lang[]

export const localeOf = (lang: Lang): Locale => LOCALES[lang]

/** The language of a BCP 47 tag; English if the page does not have that language. */
export const langOf = (tag: string): Lang =>
  LANGS.find(lang => lang === tag.toLowerCase().split('-')[0]) ?? 'en'
