import { useCallback, useEffect, useRef, useState } from 'react'
import { Button } from '@/components/ui/Button'
import { ErrorText } from '@/components/ui/ErrorText'
import { RequiredDialog } from '@/components/ui/RequiredDialog'
import { useT } from '@/lib/i18n'
import { enterByProxy, type Session } from './enter'
import { accountReason } from './refusal'

/** Signs in as the person whom the proxy in front of the server names. Nothing is asked; it says why if that fails. */
export function ProxySignIn({ session }: { session: Session }) {
  const t = useT()
  // A failure is tried again only by the person, not because the page has been drawn anew.
  const latest = useRef(session)
  latest.current = session
  const [problem, setProblem] = useState<string | null>(null)
  const signIn = useCallback(async () => {
    setProblem(null)
    try {
      await enterByProxy(latest.current)
    } catch (error) {
      setProblem(accountReason(error))
    }
  }, [])
  useEffect(() => {
    void signIn()
  }, [signIn])
  return (
    <RequiredDialog centered title={t('appName')} description={null}>
      {problem === null ? (
        <p role="status" className="text-center text-[13px] text-fg-2">
          {t('signInBusy')}
        </p>
      ) : (
        <>
          <ErrorText>{problem}</ErrorText>
          <Button look="solid" className="h-10! w-full pointer-coarse:h-11!" onClick={() => void signIn()}>
            {t('tryAgain')}
          </Button>
        </>
      )}
    </RequiredDialog>
  )
}
