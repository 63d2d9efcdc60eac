import { KeyRound } from 'lucide-react'
import { type FormEvent, useState } from 'react'
import { Button } from '@/components/ui/Button'
import { ErrorText } from '@/components/ui/ErrorText'
import { Input } from '@/components/ui/Input'
import { useT } from '@/lib/i18n'

/** Covers the page, which stays mounted beneath: a draft survives signing in again. */
export default function SignIn({ onSignIn }: { onSignIn: (token: string) => Promise<string | null> }) {
  const t = useT()
  const [token, setToken] = useState('')
  const [problem, setProblem] = useState<string | null>(null)
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setProblem(await onSignIn(token.trim()))
  }
  return (
    <div
      role="dialog"
      aria-modal="true"
      aria-labelledby="sign-in"
      className="fixed inset-0 z-50 grid place-items-center bg-black/30 p-4"
    >
      <form onSubmit={submit} className="floating appear w-[min(380px,100%)] space-y-3 rounded-xl p-5">
        <h2 id="sign-in" className="flex items-center gap-2 font-semibold text-[15px]">
          <KeyRound size={16} aria-hidden />
          {t('signIn')}
        </h2>
        <p className="text-[13px] text-fg-2">{t('signInHint')}</p>
        <Input
          // Nothing else on the page can be used before this.
          autoFocus
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
    </div>
  )
}
