import { KeyRound } from 'lucide-react'
import { type FormEvent, useState } from 'react'
import { Button } from '@/components/ui/Button'
import { ErrorText } from '@/components/ui/ErrorText'
import { Input } from '@/components/ui/Input'
import { RequiredDialog } from '@/components/ui/RequiredDialog'
import { useT } from '@/lib/i18n'

/** Asks for the token. The page stays mounted beneath, so that a draft survives signing in again. */
export function SignIn({ onSignIn }: { onSignIn: (token: string) => Promise<string | null> }) {
  const t = useT()
  const [token, setToken] = useState('')
  const [problem, setProblem] = useState<string | null>(null)
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setProblem(await onSignIn(token.trim()))
  }
  const title = (
    <>
      <KeyRound size={16} aria-hidden />
      {t('signIn')}
    </>
  )
  return (
    <RequiredDialog title={title} description={t('signInHint')}>
      <form onSubmit={submit} className="space-y-3">
        <Input
          type="password"
          autoComplete="current-password"
          aria-label={t('token')}
          placeholder={t('token')}
          value={token}
          onChange={event => setToken(event.target.value)}
        />
        {problem && <ErrorText>{problem}</ErrorText>}
        <div className="flex justify-end">
          <Button type="submit" look="solid" disabled={token.trim() === ''}>
            {t('signIn')}
          </Button>
        </div>
      </form>
    </RequiredDialog>
  )
}
