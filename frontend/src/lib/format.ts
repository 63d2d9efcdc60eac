/**
 * Formats numbers and times for people; numbers in the way of the current language, like `t`. Durations are
 * milliseconds, times are Unix seconds.
 */
import { localeOf } from '@/locales'
import { getLang } from './i18n'
import { type WrittenNumber, writeNumber } from './number'

/** With exactly `digits` decimals. */
export const fixed = (n: number, digits: number): string => writeNumber(n, localeOf(getLang()), digits)

export const count = (n: number): string => writeNumber(n, localeOf(getLang()))

export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${fixed(ms / 1000, 1)} s`
  return `${Math.floor(ms / 60_000)} m ${Math.round((ms % 60_000) / 1000)} s`
}

export function compactCount(n: number): string {
  if (n < 1000) return count(n)
  if (n < 1_000_000) return `${fixed(n / 1000, n < 10_000 ? 1 : 0)}k`
  return `${fixed(n / 1_000_000, 1)}M`
}

/** The same for a text with plural forms. */
export const compactNumber = (n: number): WrittenNumber => ({ n, text: compactCount(n) })

/** Formats bytes as KB, small ones with a decimal. */
export const kilobytes = (bytes: number): string =>
  `${count(bytes < 10_240 ? Math.round(bytes / 102.4) / 10 : Math.round(bytes / 1024))} KB`

const UNITS = ['KB', 'MB', 'GB'] as const

/** Formats the size of a file: bytes, then KB, MB and GB with a decimal while the number is small. */
export function fileSize(bytes: number): string {
  if (bytes < 1024) return `${count(bytes)} B`
  const at = bytes < 1024 ** 2 ? 0 : bytes < 1024 ** 3 ? 1 : 2
  const n = bytes / 1024 ** (at + 1)
  return `${n < 9.95 ? fixed(n, 1) : count(Math.round(n))} ${UNITS[at]}`
}

export const clock = (at: number, lang: string): string =>
  new Date(at * 1000).toLocaleTimeString(lang, { hour: '2-digit', minute: '2-digit', hour12: false })

/** Date and time in the short form of the language. */
export const moment = (at: number, lang: string): string =>
  new Date(at * 1000).toLocaleString(lang, { dateStyle: 'short', timeStyle: 'short' })

/** Month and year. */
export const monthOf = (at: number, lang: string): string =>
  new Date(at * 1000).toLocaleDateString(lang, { month: 'long', year: 'numeric' })

export const isToday = (at: number, now: Date): boolean =>
  new Date(at * 1000).toDateString() === now.toDateString()

/** Indents JSON; returns any other text unchanged. */
export function prettyJson(text: string): string {
  const trimmed = text.trim()
  if (!/^[[{]/.test(trimmed)) return text
  try {
    return JSON.stringify(JSON.parse(trimmed), null, 2)
  } catch {
    return text
  }
}
