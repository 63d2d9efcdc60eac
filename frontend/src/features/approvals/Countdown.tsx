import { Pause } from 'lucide-react'
import { useEffect, useState } from 'react'
import { useT } from '@/lib/i18n'
import { announce } from '@/stores/announcer'
import { useHeld } from './held'

const LATE_SECONDS = 30
const now = (): number => Date.now() / 1000

const clockOf = (seconds: number): string =>
  `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, '0')}`

interface Props {
  id: string
  until: number
  tool: string
}

/** The time that is left to answer: it stands still while the page is in view, as long as the server agrees. */
export function Countdown({ id, ...rest }: Props) {
  const t = useT()
  const held = useHeld(({ ids }) => ids.has(id))
  if (!held) return <Left {...rest} />
  return (
    <span title={t('approvalHeldHint')} className="inline-flex shrink-0 items-center gap-1 text-meta">
      <Pause size={11} aria-hidden />
      {t('approvalHeld')}
    </span>
  )
}

/** Counts down silently; a screen reader announces it once, when little time is left. */
function Left({ until, tool }: Omit<Props, 'id'>) {
  const t = useT()
  const [left, setLeft] = useState(() => Math.max(0, until - now()))
  useEffect(() => {
    const tick = () => setLeft(Math.max(0, until - now()))
    tick()
    const timer = setInterval(tick, 1000)
    return () => clearInterval(timer)
  }, [until])
  useEffect(() => {
    const wait = (until - now() - LATE_SECONDS) * 1000
    if (wait <= 0) return
    const timer = setTimeout(() => announce(t('approvalSoon', { tool })), wait)
    return () => clearTimeout(timer)
  }, [until, tool, t])
  return (
    <span
      role="timer"
      aria-live="off"
      title={t('approvalLeftHint')}
      className="shrink-0 text-meta tabular-nums"
    >
      {t('approvalLeft', { time: clockOf(left) })}
    </span>
  )
}
