import type { Status } from '@/api/types'
import type { Key } from '@/lib/i18n'
import type { Say } from '@/lib/server'

const LEVELS: Record<string, Key> = { strict: 'levelStrict', standard: 'levelStandard', off: 'levelOff' }

/** The translation key of a level; null for an unknown one. */
export const levelWord = (level: string): Key | null =>
  Object.hasOwn(LEVELS, level) ? (LEVELS[level] ?? null) : null

/** As whom a person's commands run, or why there are none, in the language of the page if it has a translation. */
export const commandsNote = (say: Say, { note, code, about }: NonNullable<Status['commands']>): string =>
  say(`commands.${code}`, about) ?? note

/** What commands may do, in the language of the page if it has a translation. */
export function sandboxNote(say: Say, { note, code, about }: Status['sandbox']): string {
  const parts = [say(`sandbox.${code}`, about), about.signals ? say('sandbox.signals') : '']
  return parts.includes(null) ? note : parts.join('')
}
