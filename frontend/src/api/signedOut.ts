/** Whether the server requires this browser to sign in. Every call reports a 401 here. */
import { create } from 'zustand'

/** `signIns` counts sign-ins: a 401 to a request that was sent before the latest one is ignored. */
const useSession = create<{ signedOut: boolean; signIns: number }>(() => ({ signedOut: false, signIns: 0 }))

export const useSignedOut = (): boolean => useSession(s => s.signedOut)
export const isSignedOut = (): boolean => useSession.getState().signedOut

/** Calls back when the session ends, before the page shows it. Returns the function that unsubscribes. */
export const onSignedOut = (listener: () => void): (() => void) =>
  useSession.subscribe((now, before) => {
    if (now.signedOut && !before.signedOut) listener()
  })

/** Call this before sending a request; the returned function reports that the response was a 401. */
export function watchSession(): () => void {
  const { signIns } = useSession.getState()
  return () => useSession.setState(s => (s.signIns === signIns ? { signedOut: true } : s))
}

/** Shows the sign-in, as a 401 does: the session of this browser has ended. */
export const endSession = (): void => useSession.setState({ signedOut: true })

export const signedIn = (): void => useSession.setState(s => ({ signedOut: false, signIns: s.signIns + 1 }))
