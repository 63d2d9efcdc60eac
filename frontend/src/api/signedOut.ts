/** Whether the server refuses this browser until a person signs in. Every call reports a refusal here. */
import { create } from 'zustand'

/** `signIns` counts how often a person signed in: an answer to a call from before the last time says nothing. */
const useSession = create<{ signedOut: boolean; signIns: number }>(() => ({ signedOut: false, signIns: 0 }))

export const useSignedOut = (): boolean => useSession(s => s.signedOut)

/** To be called before a request is sent; the returned function reports that the answer was 401. */
export function watchSession(): () => void {
  const { signIns } = useSession.getState()
  return () => useSession.setState(s => (s.signIns === signIns ? { signedOut: true } : s))
}

export const signedIn = (): void => useSession.setState(s => ({ signedOut: false, signIns: s.signIns + 1 }))
