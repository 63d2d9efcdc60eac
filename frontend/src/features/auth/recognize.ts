import { peopleKeys } from '@/api/multi'
import { getAuthMode, getProfile } from '@/api/people'
import { queryClient } from '@/api/queries'
import { isSignedOut } from '@/api/signedOut'
import { hasUnsavedText } from '@/app/unsaved'
import { personOfPage, rememberPerson } from '@/lib/storage'

/**
 * Finds out whether this browser has signed in to an account that the page does not know: its storage was cleared, but not
 * its cookies. The page is loaded anew for that person, because it stores and shows the data of one person only.
 */
export async function recognizePerson(): Promise<void> {
  if (isSignedOut()) return
  const mode = await getAuthMode()
  if (mode.auth_mode !== 'multi' || isSignedOut()) return
  const person = await getProfile()
  if (person.id === personOfPage) return
  rememberPerson(person.id)
  if (!hasUnsavedText()) return location.reload()
  queryClient.setQueryData(peopleKeys.mode, mode)
  queryClient.setQueryData(peopleKeys.profile, person)
}
