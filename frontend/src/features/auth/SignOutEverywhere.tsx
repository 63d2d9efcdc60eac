import { useState } from 'react'
import { signOutAll } from '@/api/people'
import { hasUnsavedText } from '@/app/unsaved'
import { Button } from '@/components/ui/Button'
import { Dialog, DialogActions } from '@/components/ui/Dialog'
import { ErrorText } from '@/components/ui/ErrorText'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import { accountReason } from './refusal'
import { forgetPerson } from './signOut'

interface Props {
  open: boolean
  onOpenChange: (open: boolean) => void
}

/** Asks before all browsers of the person are signed out. */
export default function SignOutEverywhere({ open, onOpenChange }: Props) {
  const t = useT()
  const [problem, setProblem] = useState<string | null>(null)
  const [busy, setBusy] = useState(false)
  const confirm = async () => {
    if (hasUnsavedText()) return setProblem(t('signOutUnsaved'))
    setBusy(true)
    try {
      await signOutAll()
      forgetPerson()
    } catch (error) {
      setProblem(accountReason(error))
      setBusy(false)
    }
  }
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title={t('signOutEverywhere')}>
      <p className="text-[13px] text-fg-2">{t('signOutEverywhereHint')}</p>
      {problem && <ErrorText className="mt-2">{problem}</ErrorText>}
      <DialogActions>
        <Button onClick={() => onOpenChange(false)}>{t('cancel')}</Button>
        <Button look="danger" disabled={busy} onClick={() => void confirm()}>
          {t('signOutEverywhere')}
        </Button>
      </DialogActions>
    </Dialog>
  )
}
