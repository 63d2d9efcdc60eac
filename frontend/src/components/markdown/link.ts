/** Valid targets of a link in a model's text: the web, mail, or a file of the home. Other links are shown as text. */
import { type Place, placeOf } from '@/lib/citation'

export type Target = { kind: 'web'; href: string } | { kind: 'file'; place: Place } | { kind: 'none' }

export function targetOf(href: string): Target {
  const trimmed = href.trim()
  // Control characters inside a scheme are dropped by browsers: "java\tscript:" must not slip through.
  const clean = Array.from(trimmed)
    .filter(char => char > ' ')
    .join('')
  if (/^(https?:\/\/|mailto:)/i.test(clean)) return { kind: 'web', href: trimmed }
  const place = placeOf(decode(clean.replace(/^\//, '').replace(/[?#].*$/, '')))
  return place ? { kind: 'file', place } : { kind: 'none' }
}

function decode(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
