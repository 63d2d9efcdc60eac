import { useSyncExternalStore } from 'react'
import { en, type Words } from '@/locales/en'
import { store } from './storage'

export type Key = keyof Words
export type Vars = Record<string, string | number>
export type Translate = (key: Key, vars?: Vars) => string
export type Lang = 'en' | 'zh'

type Dictionary = Partial<Record<Key, string>>

/** English is there from the start, but for what later views say; another language comes when it is spoken. */
const english: Dictionary = { ...en }
const dictionaries: Partial<Record<Lang, Dictionary>> = { en: english }

/** Adds the English words of views that are opened later. */
export const teach = (words: Dictionary): void => void Object.assign(english, words)

/** Resolves when the language can be spoken. A page that cannot fetch it stays with English. */
export async function learn(lang: Lang): Promise<void> {
  if (lang === 'zh') dictionaries.zh ??= (await import('@/locales/zh')).zh
}

let current: Lang = document.documentElement.lang.startsWith('zh') ? 'zh' : 'en'
const listeners = new Set<() => void>()

export const getLang = (): Lang => current
export const locale = (lang: Lang): string => (lang === 'zh' ? 'zh-CN' : 'en')

export async function setLang(lang: Lang): Promise<void> {
  await learn(lang)
  current = lang
  document.documentElement.lang = locale(lang)
  store('mc.lang', lang)
  for (const listener of listeners) listener()
}

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

export const useT = (): Translate => speakers[useLang()]
