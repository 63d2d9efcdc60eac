/** Why something did not work, in the person's language where the page knows the case. */
import { ApiError } from '@/api/client'
import { t } from './i18n'

export function reasonOf(error: unknown): string {
  if (error instanceof ApiError && error.code === 'disk_full') return t('diskFull')
  return error instanceof Error ? error.message : String(error)
}
