import { useSignedOut } from '@/api/signedOut'
import { ErrorBoundary } from '@/components/ErrorBoundary'
import { onDemand } from '@/components/onDemand'
import { useUi } from '@/stores/ui'
import { DIALOGS } from './dialogTable'
import { reconnect } from './follow'
import { signIn } from './threads'

const SignIn = onDemand(() => import('@/features/auth/SignIn'))

/** The open dialog, with the sign-in dialog above it. */
export function Dialogs() {
  const name = useUi(ui => ui.dialog)
  const signedOut = useSignedOut()
  const Shown = name && DIALOGS[name]
  return (
    <ErrorBoundary resetKey={name}>
      {signedOut && (
        <SignIn
          onSignIn={async token => {
            const problem = await signIn(token)
            if (problem === null) reconnect()
            return problem
          }}
        />
      )}
      {Shown && (
        <Shown key={name} open onOpenChange={open => useUi.setState({ dialog: open ? name : null })} />
      )}
    </ErrorBoundary>
  )
}
