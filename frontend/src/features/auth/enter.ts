import { signInAs, signInByProxy } from '@/api/people'
import type { Credentials, Person } from '@/api/types'
import { personOfPage, rememberPerson } from '@/lib/storage'
import { tellTabs } from '@/lib/tabs'

/** The code of an invitation, from a fragment that is exactly `#invitation=…`; empty for any other. */
export const invitationIn = (hash: string): string => /^#invitation=([\w.~-]+)$/.exec(hash)?.[1] ?? ''

/** The address at which somebody registers with an invitation. A fragment is in no log of a server. */
export const invitationLink = (code: string): string => `${location.origin}/#invitation=${code}`

export interface Session {
  /** The person of this page has signed in again. */
  onReturn: () => Promise<void>
  /** Another person has signed in, and the page is about to be loaded anew. */
  onOther: () => void
}

/** Signs in with a password. */
export const enter = async (credentials: Credentials, session: Session): Promise<void> =>
  entered(await signInAs(credentials), session)

/** Signs in as the person whom the proxy in front of the server names. */
export const enterByProxy = async (session: Session): Promise<void> => entered(await signInByProxy(), session)

/**
 * Continues after a sign-in. The person of this page continues where they were. For anybody else the page is loaded anew, because its
 * memory and its address belong to the person before; if that person has unsaved text, the browser asks first.
 */
async function entered({ id }: Person, session: Session): Promise<void> {
  rememberPerson(id)
  tellTabs('signed in')
  if (id === personOfPage) return session.onReturn()
  session.onOther()
  location.replace(personOfPage === null ? `${location.pathname}${location.search}` : '/')
}
