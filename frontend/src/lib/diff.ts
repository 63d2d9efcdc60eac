/** A line of a unified diff. */
export type DiffLine =
  | {
      kind: 'added' | 'removed' | 'same' | 'place'
      /** Without the leading sign. */
      text: string
    }
  /** Where the diff of another file begins; only in a diff of several files. */
  | { kind: 'file'; text: string; change: 'created' | 'deleted' | 'changed' }

const NOTHING = '/dev/null'

/** How many lines of each side a hunk still has. A place without numbers goes on to the end. */
function hunkOf(place: string): Hunk {
  const found = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(place)
  if (!found) return { old: Number.POSITIVE_INFINITY, new: Number.POSITIVE_INFINITY }
  return { old: Number(found[1] ?? 1), new: Number(found[2] ?? 1) }
}
interface Hunk {
  old: number
  new: number
}

function fileOf(before: string, after: string): DiffLine {
  if (before === NOTHING) return { kind: 'file', text: after, change: 'created' }
  if (after === NOTHING) return { kind: 'file', text: before, change: 'deleted' }
  return { kind: 'file', text: after, change: 'changed' }
}

const isHeader = (line: string | undefined, next: string | undefined): boolean =>
  !!line?.startsWith('--- ') && !!next?.startsWith('+++ ')

/**
 * The lines of a diff of one or several files. The numbers of a hunk say where it ends: a changed line that looks like
 * the name of a file is never taken for one.
 */
export function diffLines(diff: string): DiffLine[] {
  const lines = diff.replace(/\n$/, '').split('\n')
  const out: DiffLine[] = []
  let hunk: Hunk = { old: 0, new: 0 }
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] as string
    const inside = hunk.old > 0 || hunk.new > 0
    if (!inside && isHeader(line, lines[i + 1])) {
      out.push(fileOf(line.slice(4), (lines[i + 1] as string).slice(4)))
      i++
    } else if (line.startsWith('@@')) {
      hunk = hunkOf(line)
      out.push({ kind: 'place', text: line })
    } else if (line.startsWith('+')) {
      hunk.new--
      out.push({ kind: 'added', text: line.slice(1) })
    } else if (line.startsWith('-')) {
      hunk.old--
      out.push({ kind: 'removed', text: line.slice(1) })
    } else {
      // “\\ No newline at end of file” is a line of neither side.
      if (!line.startsWith('\\')) hunk = { old: hunk.old - 1, new: hunk.new - 1 }
      out.push({ kind: 'same', text: line.replace(/^ /, '') })
    }
  }
  // The page names a single file itself.
  return filesIn(out) > 1 ? out : out.filter(line => line.kind !== 'file')
}

export const countOf = (lines: readonly DiffLine[], kind: DiffLine['kind']): number =>
  lines.filter(line => line.kind === kind).length

const filesIn = (lines: readonly DiffLine[]): number => countOf(lines, 'file')
