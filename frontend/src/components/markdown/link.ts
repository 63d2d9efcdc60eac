/** Where a link in a model's text may lead: the web, mail, or a file of the home. Anything else is shown as text. */
export type Target = { kind: 'web'; href: string } | { kind: 'file'; path: string } | { kind: 'none' }

const HOME_FILE = /^(?:\.?\/)?((?:memory|skills|workspace|knowledge)\/[^?#]+)/

export function targetOf(href: string): Target {
  const trimmed = href.trim()
  // Control characters inside a scheme are dropped by browsers: "java\tscript:" must not slip through.
  const clean = Array.from(trimmed)
    .filter(char => char > ' ')
    .join('')
  if (/^(https?:\/\/|mailto:)/i.test(clean)) return { kind: 'web', href: trimmed }
  const file = HOME_FILE.exec(clean)
  return file?.[1] && !file[1].includes('..') ? { kind: 'file', path: decode(file[1]) } : { kind: 'none' }
}

function decode(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
