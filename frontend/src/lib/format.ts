/** Formats numbers and times for people. Durations are milliseconds, times are Unix seconds. */

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

/** Formats bytes as KB. */
export const kilobytes = (bytes: number, lang: string): string =>
  `${(bytes / 1024).toLocaleString(lang, { maximumFractionDigits: bytes < 10_240 ? 1 : 0 })} KB`

/**
 * Formats a whole number. Both languages of the page separate thousands by a comma; `Intl` takes 70 ms to start on a
 * slow machine.
 */
export const count = (n: number): string => String(n).replace(/\B(?=(\d{3})+$)/g, ',')

export const clock = (at: number, lang: string): string =>
  new Date(at * 1000).toLocaleTimeString(lang, { hour: '2-digit', minute: '2-digit', hour12: false })

/** Date and time in the short form of the language. */
export const moment = (at: number, lang: string): string =>
  new Date(at * 1000).toLocaleString(lang, { dateStyle: 'short', timeStyle: 'short' })

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
