/** A line of a unified diff. */
export interface DiffLine {
  kind: 'added' | 'removed' | 'same' | 'place'
  /** Without the leading sign. */
  text: string
}

export function diffLines(diff: string): DiffLine[] {
  const lines = diff.replace(/\n$/, '').split('\n')
  const first = lines.findIndex(line => line.startsWith('@@'))
  // Skips the names of the two files before the first hunk; the page shows them itself.
  return lines.slice(Math.max(first, 0)).map(line => {
    if (line.startsWith('@@')) return { kind: 'place', text: line }
    if (line.startsWith('+')) return { kind: 'added', text: line.slice(1) }
    if (line.startsWith('-')) return { kind: 'removed', text: line.slice(1) }
    return { kind: 'same', text: line.replace(/^ /, '') }
  })
}

export const countOf = (lines: readonly DiffLine[], kind: DiffLine['kind']): number =>
  lines.filter(line => line.kind === kind).length
