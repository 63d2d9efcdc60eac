import { useEffect, useState } from 'react'
import { useT } from '@/lib/i18n'
import { announce } from '@/stores/announcer'

const LATE_SECONDS = 30
const now = (): number => Date.now() / 1000

const clockOf = (seconds: number): string =>
  `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, '0')}`

/** Counts down silently; a screen reader announces it once, when little time is left. */
export function Countdown({ until, tool }: { until: number; tool: string }) {
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
