import { useSyncExternalStore } from 'react'
import { en, type Words } from '@/locales/en'
import type { Say } from './server'
import { store } from './storage'

export type Key = keyof Words
export type Vars = Record<string, string | number>
export type Translate = (key: Key, vars?: Vars) => string
export type Lang = 'en' | 'zh'

type Dictionary = Partial<Record<Key, string>>

/** English is there from the start, but for what later views say; another language comes when it is spoken. */
const english: Dictionary = { ...en }
const dictionaries: Partial<Record<Lang, Dictionary>> = { en: english }

/** What the server says in English, by language. */
const ofServer: Partial<Record<Lang, Record<string, string>>> = {}

/** Adds the English words of views that are opened later. */
export const teach = (words: Dictionary): void => void Object.assign(english, words)

/** Resolves when the language can be spoken. A page that cannot fetch it stays with English. */
export async function learn(lang: Lang): Promise<void> {
  if (lang !== 'zh' || dictionaries.zh) return
  const { zh, server } = await import('@/locales/zh')
  dictionaries.zh = zh
  ofServer.zh = server
}

let current: Lang = document.documentElement.lang.startsWith('zh') ? 'zh' : 'en'
const listeners = new Set<() => void>()

export const getLang = (): Lang => current
export const locale = (lang: Lang): string => (lang === 'zh' ? 'zh-CN' : 'en')

export async function setLang(lang: Lang): Promise<void> {
  await learn(lang)
  current = lang
  document.documentElement.lang = locale(lang)
  store('lang', lang)
  for (const listener of listeners) listener()
}

/** Changes to the language after the current one. */
export const nextLang = (): Promise<void> => setLang(current === 'zh' ? 'en' : 'zh')

/** `{n|file|files}`: the first where `n` is one, else the second, which may have places of its own. */
const FORMS = /\{(\w+)\|([^|]*)\|((?:[^{}]|\{\w+\})*)\}/g

export function translate(lang: Lang, key: Key, vars: Vars = {}): string {
  const value = (name: string): string => String(vars[name] ?? '')
  return (dictionaries[lang]?.[key] ?? english[key] ?? key)
    .replace(FORMS, (_, name: string, one: string, more: string) => (value(name) === '1' ? one : more))
    .replace(/\{(\w+)\}/g, (_, name: string) => value(name))
}

/** For code outside React, which speaks the language of the moment. */
export const t: Translate = (key, vars) => translate(current, key, vars)

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const useLang = (): Lang => useSyncExternalStore(subscribe, getLang)

/** One function a language, so that a component that keeps it sees a change only when the language changes. */
const speakers: Record<Lang, Translate> = {
  en: (key, vars) => translate('en', key, vars),
  zh: (key, vars) => translate('zh', key, vars),
}

/** The server's sentence in a language; null where that has none, or where something that it names was not told. */
export function sayOfServer(lang: Lang, key: string, about: Vars = {}): string | null {
  const words = ofServer[lang]
  if (!words || !Object.hasOwn(words, key)) return null
  const text = words[key] ?? ''
  const told = [...text.matchAll(/\{(\w+)\}/g)].every(([, name]) => Object.hasOwn(about, String(name)))
  return told ? text.replace(/\{(\w+)\}/g, (_, name: string) => String(about[name])) : null
}

const sayers: Record<Lang, Say> = {
  en: () => null,
  zh: (key, about) => sayOfServer('zh', key, about),
}

/** For code outside React. */
export const say: Say = (key, about) => sayers[current](key, about)

/** Says what the server tells by a code. It speaks English by itself. */
export const useSay = (): Say => sayers[useLang()]

export const useT = (): Translate => speakers[useLang()]
