/** Why an operation failed, in the person's language if the page knows the case. */
import { ApiError } from '@/api/client'
import { type Key, say, t } from './i18n'
import { withShownPaths } from './roots'
import { failureIn } from './server'

/** Codes that the page has texts for in every language. */
const OWN: Partial<Record<string, Key>> = { disk_full: 'diskFull', no_answer: 'noAnswer' }

export function reasonOf(error: unknown): string {
  if (error instanceof ApiError) {
    const own = OWN[error.code]
    if (own) return t(own)
    const { about } = error.body
    const told = { ...(isTexts(about) ? about : {}), message: error.message }
    const facts = Object.entries(told).map(([name, text]) => [name, withShownPaths(text)])
    return failureIn(say, error.code, Object.fromEntries(facts)) ?? withShownPaths(error.message)
  }
  if (error instanceof TypeError && NOT_LOADED.test(error.message)) return t('noAnswer')
  return error instanceof Error ? error.message : String(error)
}

/** What browsers say if code that is loaded on demand, or the rest of a response, does not arrive. */
const NOT_LOADED = /fetch|import|network|load failed/i

const isTexts = (about: unknown): about is Record<string, string> =>
  typeof about === 'object' && about !== null && Object.values(about).every(text => typeof text === 'string')
