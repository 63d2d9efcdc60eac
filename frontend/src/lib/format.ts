/** Numbers and times as people read them. Durations are milliseconds, times are unix seconds. */

export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`
  return `${Math.floor(ms / 60_000)} m ${Math.round((ms % 60_000) / 1000)} s`
}

export function compactCount(n: number): string {
  if (n < 1000) return String(n)
  if (n < 1_000_000) return `${(n / 1000).toFixed(n < 10_000 ? 1 : 0)}k`
  return `${(n / 1_000_000).toFixed(1)}M`
}

/** Bytes, in the unit that suits. */
export const kilobytes = (bytes: number, lang: string): string =>
  `${(bytes / 1024).toLocaleString(lang, { maximumFractionDigits: bytes < 10_240 ? 1 : 0 })} KB`

/** Whole numbers. Both languages of the page part thousands by a comma; to begin with, `Intl` takes a slow machine 70 ms. */
export const count = (n: number): string => String(n).replace(/\B(?=(\d{3})+$)/g, ',')

export const clock = (at: number, lang: string): string =>
  new Date(at * 1000).toLocaleTimeString(lang, { hour: '2-digit', minute: '2-digit', hour12: false })

/** Day and time, as short as the language has it. */
export const moment = (at: number, lang: string): string =>
  new Date(at * 1000).toLocaleString(lang, { dateStyle: 'short', timeStyle: 'short' })

export const isToday = (at: number, now: Date): boolean =>
  new Date(at * 1000).toDateString() === now.toDateString()

/** Indents JSON; anything else comes back as it is. */
export function prettyJson(text: string): string {
  const trimmed = text.trim()
  if (!/^[[{]/.test(trimmed)) return text
  try {
    return JSON.stringify(JSON.parse(trimmed), null, 2)
  } catch {
    return text
  }
}
