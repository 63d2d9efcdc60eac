import { useEffect } from 'react'
import { onSignedOut, useSignedOut } from '@/api/signedOut'
import { onDemand } from '@/components/onDemand'
import { closeDialog } from '@/stores/ui'
import { disconnect, reconnect } from './follow'
import { resume, signIn } from './threads'

const Nothing = () => null
const SignInOf = onDemand(() => import('@/features/auth/SignInOf'), Nothing)

async function onToken(token: string): Promise<string | null> {
  const problem = await signIn(token)
  if (problem === null) reconnect()
  return problem
}

const SESSION = {
  onReturn: async () => {
    await resume()
    reconnect()
  },
  onOther: disconnect,
}

/**
 * While the server requires a sign-in, covers the page with it: nothing of the person can be read or used. A dialog
 * that is open stays beneath with what was typed into it. One that is still being loaded would appear above, and take
 * the focus: it is closed, because nothing was typed into it.
 */
export function SignInGate() {
  const signedOut = useSignedOut()
  useEffect(
    () =>
      onSignedOut(() => {
        const shown = document.querySelector('[role=dialog]:not([data-sheet])')
        if (!shown) closeDialog()
      }),
    [],
  )
  if (!signedOut) return null
  return (
    <div className="fixed inset-0 z-[65] grid bg-[var(--pane-solid)]">
      <SignInOf onToken={onToken} session={SESSION} />
    </div>
  )
}
