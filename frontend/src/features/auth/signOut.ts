import { postLogout } from '@/api/endpoints'
import { afterSignOut, isMulti } from '@/api/multi'
import { endSession } from '@/api/signedOut'
import { hasUnsavedText } from '@/app/unsaved'
import { t } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'
import { clearPersonalStorage, personOfPage, rememberPerson, stored } from '@/lib/storage'
import { onTabMessage, tellTabs } from '@/lib/tabs'
import { toast } from '@/stores/toasts'

/** Loads the page anew, so that no store and no cache of this tab keeps personal data. */
const startAgain = (address = '/'): void => location.replace(address)

/**
 * Ends this browser's session in all of its tabs. Refuses while this tab has unsaved text, which could not be saved
 * afterwards.
 */
export async function signOut(): Promise<void> {
  if (hasUnsavedText()) return toast(t('signOutUnsaved'), { tone: 'bad' })
  try {
    await (isMulti() ? (await import('@/api/people')).signPersonOut() : postLogout())
  } catch (error) {
    toast(t('notDone', { reason: reasonOf(error) }), { tone: 'bad' })
    return
  }
  forgetPerson()
}

/** Removes from this browser what the person has stored, after the server has ended the session. */
export function forgetPerson(): void {
  clearPersonalStorage()
  rememberPerson(null)
  tellTabs('signed out')
  startAgain(afterSignOut())
}

/**
 * Follows a sign-out in another tab, or that another person has signed in there. Drafts are gone then, because that tab has removed them from the storage on
 * purpose. A file that is edited here, or a message that waits here, exists nowhere else: this tab keeps its memory,
 * and only covers itself with the sign-in, so that no text is lost silently. The same token opens it again.
 */
export const followSignOut = (): (() => void) =>
  onTabMessage(message => {
    if (message !== 'signed out' && (message !== 'signed in' || stored('person') === personOfPage)) return
    if (hasUnsavedText()) endSession()
    else startAgain()
  })
