/** How a call ended and what could not be kept of it, in the language of the page. */
import type { Rehearsed } from '@/api/types'
import type { Translate } from '@/lib/i18n'
import '@/lib/later'
import type { Say } from '@/lib/server'

/** Whether applying it would change no file. */
export const changesNothing = ({ created, changed, deleted }: Rehearsed): boolean =>
  created + changed + deleted === 0

/** Null if it did not end with a code. */
export function exitCodeOf(outcome: string): number | null {
  const code = /^exit code (-?\d+)$/.exec(outcome)?.[1]
  return code === undefined ? null : Number(code)
}

/** The server's few words about an end; words that the page does not know stay as they are. */
export function outcomeIn(t: Translate, outcome: string): string {
  const code = exitCodeOf(outcome)
  if (code !== null) return t('exitCode', { code })
  const n = /^stopped after (\d+) s\b/.exec(outcome)?.[1]
  if (n !== undefined) return t('outcomeTimeout', { n })
  const signal = /^killed by signal (.+)$/.exec(outcome)?.[1]
  return signal === undefined ? outcome : t('outcomeSignal', { signal })
}

/** A line `path: reason`; a path may have a colon too. */
export function refusalIn(say: Say, line: string): string {
  const at = line.lastIndexOf(': ') + 2
  const why = line.slice(at)
  return at < 2 ? line : line.slice(0, at) + (say(`refused.${why}`) ?? why)
}
