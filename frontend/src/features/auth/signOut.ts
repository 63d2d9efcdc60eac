import { postLogout } from '@/api/endpoints'
import { hasUnsavedText } from '@/app/unsaved'
import { t } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'
import { clearPersonalStorage } from '@/lib/storage'
import { toast } from '@/stores/toasts'

/**
 * Ends this browser's session and reloads the page, so that no store and no cache keeps personal data. Refuses while
 * there is unsaved text, which could not be saved afterwards.
 */
export async function signOut(): Promise<void> {
  if (hasUnsavedText()) return toast(t('signOutUnsaved'), { tone: 'bad' })
  try {
    await postLogout()
  } catch (error) {
    toast(t('notDone', { reason: reasonOf(error) }), { tone: 'bad' })
    return
  }
  clearPersonalStorage()
  location.replace('/')
}
