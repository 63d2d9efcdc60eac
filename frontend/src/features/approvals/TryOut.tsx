import { FlaskConical } from 'lucide-react'
import { useState } from 'react'
import type { Approval } from '@/api/types'
import { Button } from '@/components/ui/Button'
import { Spinner } from '@/components/ui/Spinner'
import { useSay, useT } from '@/lib/i18n'

interface Props {
  approval: Approval
  disabled: boolean
  onTryOut: () => Promise<void>
}

/** Runs a command with its changes kept apart before the person answers; absent if that cannot be done. */
export function TryOut({ approval: { rehearsal }, disabled, onTryOut }: Props) {
  const t = useT()
  const [requesting, setRequesting] = useState(false)
  const running = requesting || rehearsal?.state === 'running'
  if (rehearsal?.state !== 'available' && !running) return null
  const request = async () => {
    setRequesting(true)
    await onTryOut()
    setRequesting(false)
  }
  return (
    <Button disabled={disabled || running} title={t('tryOutHint')} onClick={() => void request()}>
      {running ? <Spinner /> : <FlaskConical size={14} aria-hidden />}
      {t(running ? 'tryingOut' : 'tryOut')}
    </Button>
  )
}

/** Why a command cannot be tried out, unless the reason of the question says it. */
export function NoTryOut({ approval: { rehearsal, because } }: { approval: Approval }) {
  const t = useT()
  const say = useSay()
  if (rehearsal?.state !== 'unavailable' || because?.code === 'unrehearsed') return null
  const why = say(`obstacle.${rehearsal.obstacle}`)
  return (
    <p className="text-fg-2 [overflow-wrap:anywhere]">
      {why === null
        ? t('noTryOut', { why: rehearsal.why })
        : t('noTryOut', { why: `${why}${say('because.end') ?? ''}` })}
    </p>
  )
}
