import { useSyncExternalStore } from 'react'
import { LANGS, type Lang, langOf, localeOf } from '@/locales'
import { en, type Words } from '@/locales/en'
import { causeIn } from './causes'
import { type WrittenNumber, writeNumber } from './number'
import { choosePlurals } from './plural'
import type { Say } from './server'
import { store } from './storage'

export type { Lang } from '@/locales'
export type Key = keyof Words
/** A number is written in the way of the language; what is no amount, such as the number of a line, is a string. */
export type Vars = Record<string, string | number | WrittenNumber>
/** What the server tells with a code. */
export type Facts = Record<string, string | number>
export type Translate = (key: Key, vars?: Vars) => string

type Dictionary = Partial<Record<Key, string>>

/**
 * English is loaded from the start, except for the texts of later views; another language is loaded when it is
 * chosen.
 */
const english: Dictionary = { ...en }
const dictionaries: Partial<Record<Lang, Dictionary>> = { en: english }

/** Translations of the server's English texts, by language. */
const ofServer: Partial<Record<Lang, Record<string, string>>> = {}

/** Adds the English texts of views that are loaded later. */
export const registerMessages = (words: Dictionary): void => void Object.assign(english, words)

/** Resolves when the texts of the language are loaded. If they cannot be fetched, the page stays English. */
export async function loadLocale(lang: Lang): Promise<void> {
  const { load } = localeOf(lang)
  if (!load || dictionaries[lang]) return
  const { words, server } = await load()
  dictionaries[lang] = words
  ofServer[lang] = server
}

/** The BCP 47 tag of a language, for `Intl`. */
export const locale = (lang: Lang): string => localeOf(lang).tag

// `boot.js` reads which language the browser or the person asks for; it does not know which ones exist.
let current: Lang = langOf(document.documentElement.lang)
document.documentElement.lang = locale(current)
const listeners = new Set<() => void>()

export const getLang = (): Lang => current
export async function setLang(lang: Lang): Promise<void> {
  await loadLocale(lang)
  current = lang
  document.documentElement.lang = locale(lang)
  store('lang', lang)
  for (const listener of listeners) listener()
}

/** Switches to the language after the current one. */
export const nextLang = (): Promise<void> =>
  setLang(LANGS[(LANGS.indexOf(current) + 1) % LANGS.length] ?? current)

export function translate(lang: Lang, key: Key, vars: Vars = {}): string {
  const own = dictionaries[lang]?.[key]
  // A text that the language lacks is English, and so are its plural forms and its numbers.
  const said = own === undefined ? 'en' : lang
  const numberOf = (name: string): number => {
    const value = vars[name]
    return typeof value === 'object' ? value.n : typeof value === 'number' ? value : Number.NaN
  }
  const textOf = (name: string): string => {
    const value = vars[name] ?? ''
    if (typeof value === 'number') return writeNumber(value, localeOf(said))
    return typeof value === 'object' ? value.text : value
  }
  const chosen = choosePlurals(own ?? english[key] ?? key, locale(said), numberOf)
  return chosen.replace(/\{(\w+)\}/g, (_, name: string) => textOf(name))
}

/** For code outside React; uses the current language. */
export const t: Translate = (key, vars) => translate(current, key, vars)

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const useLang = (): Lang => useSyncExternalStore(subscribe, getLang)

const forEachLang = <T>(make: (lang: Lang) => T): Record<Lang, T> =>
  Object.fromEntries(LANGS.map(lang => [lang, make(lang)])) as Record<Lang, T>

/** One function per language, so that a component that stores it sees a change only when the language changes. */
const translators = forEachLang<Translate>(lang => (key, vars) => translate(lang, key, vars))

/** The server's sentence in a language; null if there is no translation, or if a value that it names is missing. */
export function sayOfServer(lang: Lang, key: string, about: Facts = {}): string | null {
  const words = ofServer[lang]
  const lookup = (key: string) => (words && Object.hasOwn(words, key) ? (words[key] ?? '') : null)
  const text = lookup(key)
  if (text === null) return null
  const told = [...text.matchAll(/\{(\w+)\}/g)].every(([, name]) => Object.hasOwn(about, String(name)))
  const toldAs = (name: string) => causeIn(lookup, name, String(about[name]))
  return told ? text.replace(/\{(\w+)\}/g, (_, name: string) => toldAs(name)) : null
}

const serverTranslators = forEachLang<Say>(lang => (key, about) => sayOfServer(lang, key, about))

/** For code outside React. */
export const say: Say = (key, about) => serverTranslators[current](key, about)

/** Translates what the server sends as a code. The server itself uses English. */
export const useSay = (): Say => serverTranslators[useLang()]

export const useT = (): Translate => translators[useLang()]
