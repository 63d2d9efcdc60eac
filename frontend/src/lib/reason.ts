/** Why an operation failed, in the person's language if the page knows the case. */
import { ApiError } from '@/api/client'
import { type Key, say, t } from './i18n'
import { failureIn } from './server'

/** Codes that the page has texts for in every language. */
const OWN: Partial<Record<string, Key>> = { disk_full: 'diskFull', no_answer: 'noAnswer' }

export function reasonOf(error: unknown): string {
  if (error instanceof ApiError) {
    const own = OWN[error.code]
    if (own) return t(own)
    const { about } = error.body
    const told = failureIn(say, error.code, { ...(isTexts(about) ? about : {}), message: error.message })
    if (told !== null) return told
  }
  return error instanceof Error ? error.message : String(error)
}

const isTexts = (about: unknown): about is Record<string, string> =>
  typeof about === 'object' && about !== null && Object.values(about).every(text => typeof text === 'string')
