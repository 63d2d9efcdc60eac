import { useAuthMode } from '@/api/peopleQueries'
import { QueryError } from '@/components/ui/QueryError'
import { invitationIn, type Session } from './enter'
import { PeopleSignIn } from './PeopleSignIn'
import { ProxySignIn } from './ProxySignIn'
import { SignIn } from './SignIn'
import '@/lib/later'

interface Props {
  /** Signs in with the token of a server for one person; resolves to null on success, else to the reason. */
  onToken: (token: string) => Promise<string | null>
  session: Session
}

/** The sign-in of this server: its token, or an account. Only now is it asked which. */
export default function SignInOf({ onToken, session }: Props) {
  const { data: mode, error, refetch } = useAuthMode()
  if (!mode) return error && <QueryError className="m-auto" error={error} onRetry={() => void refetch()} />
  // The first account, and one by an invitation, are made with the form.
  const named = mode.proxy_sign_in && mode.has_accounts && invitationIn(location.hash) === ''
  if (named) return <ProxySignIn session={session} />
  if (mode.auth_mode === 'multi') return <PeopleSignIn mode={mode} session={session} />
  return <SignIn onSignIn={onToken} />
}
