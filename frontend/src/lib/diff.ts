/** A unified diff, line by line. */
export interface DiffLine {
  kind: 'added' | 'removed' | 'same' | 'place'
  /** Without the sign before it. */
  text: string
}

export function diffLines(diff: string): DiffLine[] {
  const lines = diff.replace(/\n$/, '').split('\n')
  const first = lines.findIndex(line => line.startsWith('@@'))
  // Before the first place stand the names of the two files, which the page says itself.
  return lines.slice(Math.max(first, 0)).map(line => {
    if (line.startsWith('@@')) return { kind: 'place', text: line }
    if (line.startsWith('+')) return { kind: 'added', text: line.slice(1) }
    if (line.startsWith('-')) return { kind: 'removed', text: line.slice(1) }
    return { kind: 'same', text: line.replace(/^ /, '') }
  })
}

export const countOf = (lines: readonly DiffLine[], kind: DiffLine['kind']): number =>
  lines.filter(line => line.kind === kind).length
