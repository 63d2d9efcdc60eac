import type { AuditEntry } from '@/api/types'
import type { Key, Translate } from '@/lib/i18n'

/** The events of the audit log in words. */
export const EVENTS: Readonly<Record<string, Key>> = {
  sign_in: 'auditSignIn',
  sign_out: 'auditSignOut',
  sign_out_everywhere: 'auditSignOutEverywhere',
  registered: 'auditRegistered',
  password_changed: 'auditPasswordChanged',
  profile_changed: 'auditProfileChanged',
  token_made: 'auditTokenMade',
  token_deleted: 'auditTokenDeleted',
  account_changed: 'auditAccountChanged',
  password_reset: 'auditPasswordReset',
  invitation_made: 'auditInvitationMade',
  invitation_deleted: 'auditInvitationDeleted',
  member_set: 'auditMemberSet',
  member_removed: 'auditMemberRemoved',
  project_joined: 'auditProjectJoined',
  project_declined: 'auditProjectDeclined',
  settings_changed: 'auditSettingsChanged',
  provider_changed: 'auditProviderChanged',
  model_changed: 'auditModelChanged',
}

/** An event that this page does not know is shown as the server calls it. */
export function eventOf(event: string, t: Translate): string {
  const words = EVENTS[event]
  return words ? t(words) : event
}

/** Why an act was refused. A name that nobody has and a wrong password are told apart by nothing. */
export function reasonWords(reason: string | null, t: Translate): string {
  if (reason === 'wrong_password') return t('auditWrongPassword')
  if (reason === 'disabled') return t('personDisabled')
  return reason ? `${t('auditRefused')}: ${reason}` : t('auditRefused')
}

/** What was changed. */
export function detailOf({ detail }: AuditEntry, t: Translate): string {
  const { is_active: active, role, keys, id, request } = (detail ?? {}) as Record<string, unknown>
  const parts = [
    active === true && t('personEnable'),
    active === false && t('personDisable'),
    role === 'admin' && t('roleAdmin'),
    role === 'user' && t('roleUser'),
    Array.isArray(keys) && keys.join(', '),
    typeof id === 'string' && id,
    typeof request === 'string' && request,
  ]
  return parts.filter(Boolean).join(' · ')
}
