import type { Status } from '@/api/types'
import type { Key } from '@/lib/i18n'
import type { Say } from '@/lib/server'

const LEVELS: Record<string, Key> = { strict: 'levelStrict', standard: 'levelStandard', off: 'levelOff' }

/** The word for a level; null for one that the page does not know. */
export const levelWord = (level: string): Key | null =>
  Object.hasOwn(LEVELS, level) ? (LEVELS[level] ?? null) : null

/** The server tells by no code what holds on its machine, so its sentence is known by its shape, and only as a whole:
 * one that says that commands are refused must never be read as one that says they run. */
const FENCED =
  /^Commands run in (?:namespaces of their own \((?<program>.+)\) and in there in )?a sandbox \(Landlock and seccomp\): they write only in scratch\/, read only system files and the home's four folders, and have no network(?<signals>; on this kernel \(before Linux 6\.12\) they can still send signals to processes of the same user)?\.$/
const OFF =
  'The sandbox is off, as the command line says: commands run with all rights of the user who started miniclaw.'

/** What commands may do, in the language of the page where that has words for it. */
export function sandboxNote(say: Say, { note }: Status['sandbox']): string {
  if (note === OFF) return say('sandbox.off') ?? note
  const groups = FENCED.exec(note)?.groups
  if (!groups) return note
  const { program, signals } = groups
  const parts = [
    program ? say('sandbox.strict', { program }) : say('sandbox.standard'),
    signals ? say('sandbox.signals') : '',
  ]
  return parts.includes(null) ? note : parts.join('')
}
