import { expect, it } from 'vitest'
import { ApiError } from '@/api/client'
import { invitationIn, invitationLink } from '@/features/auth/enter'
import { KNOWN, refusalOf } from '@/features/auth/refusal'
import { clockOf } from '@/features/auth/Wait'
import { t } from '@/lib/i18n'
import { rustSource } from '../rust'

const refused = (status: number, reason?: string, retryAfter: number | null = null) =>
  refusalOf(new ApiError(status, { code: status, reason, message: 'as told' }, retryAfter), 1000)

it('a refused form names the field to correct', () => {
  expect(refused(401, 'wrong_password')).toMatchObject({ text: t('signInWrong'), field: 'password' })
  expect(refused(403, 'bad_invitation')).toMatchObject({ text: t('invitationBad'), field: 'invitation' })
  expect(refused(403, 'setup_code_needed')).toMatchObject({ field: 'setup_code' })
  expect(refused(403, 'disabled')).toEqual({ text: t('signInDisabled'), field: null, until: null })
  expect(refused(409, 'email_taken')).toMatchObject({ text: t('emailTaken'), field: 'email' })
  // A session that has ended, or a conflict that the page does not know, is not taken for something else.
  for (const [status, code] of [
    [401, 'signed_out'],
    [409, 'accounts_changed'],
  ] as const)
    expect(refused(status, code)).toEqual({ text: 'as told', field: null, until: null })
  expect(refused(403, 'newer')).toEqual({ text: 'as told', field: null, until: null })
})

it('every code that a form explains is one of the server', () => {
  const rust = ['api/auth/refused.rs', 'api/error.rs', 'api/security/proxy_user.rs'].map(rustSource).join()
  for (const code of Object.keys(KNOWN)) expect(rust, code).toContain(`"${code}"`)
})

it('the time to wait is that of the server, or half a minute', () => {
  expect(refused(429, 'too_many_tries', 5).until).toBe(6000)
  expect(refused(429).until).toBe(31_000)
  expect([0, 9, 60, 3601].map(clockOf)).toEqual(['0:00', '0:09', '1:00', '60:01'])
})

it('an invitation is read from the link that was made of it', () => {
  expect(invitationIn(new URL(invitationLink('aB-1_2.~')).hash)).toBe('aB-1_2.~')
  for (const hash of ['', '#code=a', '#invitation=', '#invitation=a%20b', '#invitation=a&x=1'])
    expect(invitationIn(hash), hash).toBe('')
})
