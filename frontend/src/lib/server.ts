/** Translates what the server sends as a code into the language of the page. */
import type { Facts } from './i18n'

/** Returns the sentence of a key; null if the language has none, or if a value that it names is missing. */
export type Say = (key: string, about?: Facts) => string | null

/**
 * Why a call or a work failed. Where only the server's sentence has the details, `about.message`, it follows translated
 * words. Null if that sentence has to be shown alone.
 */
export function failureIn(say: Say, code: string, about: Facts): string | null {
  const first = sentence(say, code, about) ?? say(`message.${code}`, about)
  if (first === null) return null
  const words = about.said ? say('said', about) : ''
  const wait = code === 'rate_limited' || code === 'server' ? later(say, Number(about.after ?? 0)) : ''
  return [first, words, wait].join('')
}

function sentence(say: Say, code: string, about: Facts): string | null {
  const kind = about.key ?? about.trouble ?? about.phase ?? (about.limit && 'limit')
  return say(kind ? `${code}.${kind}` : code, about)
}

function later(say: Say, seconds: number): string | null {
  if (seconds === 0) return say('later')
  if (seconds < 120) return say('laterSeconds', { n: seconds })
  if (seconds < 7200) return say('laterMinutes', { n: Math.ceil(seconds / 60) })
  return say('laterHours', { n: Math.ceil(seconds / 3600) })
}

/** Why a file cannot be read. Null if the server's own sentence has to be shown. */
export const unreadableIn = (say: Say, file: { code: string; detail?: string | null }): string | null =>
  say(`unreadable.${file.code}`, file.detail ? { detail: file.detail } : {})

/** The problem with a file, or null. */
export const problemIn = (
  say: Say,
  file: { problem?: string | null; problem_code?: string | null },
): string | null => (file.problem_code ? failureIn(say, file.problem_code, {}) : null) ?? file.problem ?? null

interface MessageCode {
  code: string
  about?: Facts
}

/** What the server says about a skill, in its own words if the page has no translation. */
export const ofSkill = (say: Say, text: string, said: MessageCode | null | undefined): string =>
  (said && say(`skill.${said.code}`, said.about)) ?? text

/** A sentence that has no code, such as the name of a part of the prompt. What is in parentheses may differ. */
export const textIn = (say: Say, text: string): string =>
  say(`text.${text.replace(/\([^)]*\)/g, '()')}`) ?? text

/** Why a run reached a limit. The number and the name of the tool may differ. */
export function limitIn(say: Say, text: string): string {
  const tool = /the same (\S+) call/.exec(text)?.[1]
  const rest = tool === undefined ? text : text.replace(tool, '…')
  const n = /\d+/.exec(rest)?.[0]
  const about = { ...(n !== undefined && { n }), ...(tool !== undefined && { tool }) }
  return say(`limit.${rest.replace(/\d+/, '#')}`, about) ?? text
}

interface BadTest {
  code: string
  message: string
  reason?: string | null
}

/** Why a line is not a retrieval test. */
export const badTestIn = (say: Say, { code, message, reason }: BadTest): string =>
  say(`bad_test.${code}`, reason ? { reason } : {}) ?? message

/** Why a call needs an approval. */
interface Because {
  code: string
  text_from?: string | null
  file?: string | null
  obstacle?: string | null
}

/** Null if the server's own sentence has to be shown. */
export function becauseIn(say: Say, because: Because | null | undefined): string | null {
  if (!because) return null
  const { code, text_from, file, obstacle } = because
  const parts = [
    ...(code === 'outside' && text_from ? [] : [say(`because.${code}`)]),
    ...(obstacle ? [say(`obstacle.${obstacle}`)] : []),
    ...(text_from ? [say(`from.${text_from}`, file ? { file } : {})] : []),
  ]
  return parts.includes(null)
    ? null
    : `${parts.join(say('because.separator') ?? '')}${say('because.end') ?? ''}`
}
