import { ApiError } from '@/api/client'
import { type Key, t } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'

export type FieldName = 'username' | 'password' | 'email' | 'invitation' | 'setup_code'

/** Why a form was refused. */
export interface Refusal {
  text: string
  /** The field that is to be corrected, if one is. */
  field: FieldName | null
  /** When the server accepts the next attempt, in milliseconds; null for at once. */
  until: number | null
}

/** The server's codes for what concerns accounts. */
export const KNOWN: Partial<Record<string, readonly [words: Key, field: FieldName | null]>> = {
  wrong_password: ['signInWrong', 'password'],
  disabled: ['signInDisabled', null],
  too_many_tries: ['signInTooMany', null],
  bad_username: ['usernameBad', 'username'],
  username_taken: ['usernameTaken', 'username'],
  weak_password: ['passwordWeak', 'password'],
  bad_email: ['emailBad', 'email'],
  email_taken: ['emailTaken', 'email'],
  bad_invitation: ['invitationBad', 'invitation'],
  invitation_needed: ['invitationNeeded', 'invitation'],
  registration_closed: ['registrationClosed', null],
  setup_code_needed: ['setupCodeBad', 'setup_code'],
  last_admin: ['lastAdmin', null],
  too_many_items: ['tooManyOfThem', null],
  bad_proxy_user: ['proxyUserBad', null],
  sign_in_busy: ['signInServerBusy', null],
}

/** Seconds to wait if the server does not say it. */
const USUAL_WAIT = 30

export function refusalOf(error: unknown, now: number): Refusal {
  if (!(error instanceof ApiError)) return { text: reasonOf(error), field: null, until: null }
  const { code, status, retryAfter } = error
  const [words, field] = KNOWN[code] ?? [null, null]
  if (status === 429)
    return { text: t('signInTooMany'), field: null, until: now + (retryAfter ?? USUAL_WAIT) * 1000 }
  return { text: words ? t(words) : reasonOf(error), field, until: null }
}

/** Why something about an account failed. */
export const accountReason = (error: unknown): string => refusalOf(error, Date.now()).text
