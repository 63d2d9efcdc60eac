/** The languages of the page. A new one is its folder and one entry here. */
import type { Words } from './en'

export interface Messages {
  words: Record<keyof Words, string>
  /** What the server says in English, by its code. */
  server: Record<string, string>
}

interface Locale {
  /** What it calls itself. */
  name: string
  /** BCP 47: for dates, plurals and the page's `lang`. */
  tag: string
  /** Null for the language whose words are there from the start. */
  load: (() => Promise<Messages>) | null
}

export const LOCALES = {
  en: { name: 'English', tag: 'en', load: null },
  zh: {
    name: '中文',
    tag: 'zh-CN',
    load: () => import('./zh').then(({ zh: words, server }) => ({ words, server })),
  },
} as const satisfies Record<string, Locale>

export type Lang = keyof typeof LOCALES

export const LANGS = Object.keys(LOCALES) as Lang[]

export const localeOf = (lang: Lang): Locale => LOCALES[lang]

/** The language of a BCP 47 tag; English where there is none. */
export const langOf = (tag: string): Lang =>
  LANGS.find(lang => lang === tag.toLowerCase().split('-')[0]) ?? 'en'
