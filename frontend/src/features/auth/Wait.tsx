import { useEffect, useState } from 'react'
import { useT } from '@/lib/i18n'

const secondsTo = (until: number): number => Math.max(0, Math.ceil((until - Date.now()) / 1000))

export const clockOf = (seconds: number): string =>
  `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`

/** The time until the next attempt. Counts down silently: a screen reader hears only when it is over. */
export function Wait({ until, onOver }: { until: number; onOver: () => void }) {
  const t = useT()
  const [left, setLeft] = useState(() => secondsTo(until))
  useEffect(() => {
    const tick = () => {
      const seconds = secondsTo(until)
      setLeft(seconds)
      if (seconds === 0) onOver()
    }
    const timer = setInterval(tick, 250)
    return () => clearInterval(timer)
  }, [until, onOver])
  return (
    <p role="timer" aria-live="off" className="text-fg-2 text-small tabular-nums">
      {t('signInWait', { time: clockOf(left) })}
    </p>
  )
}
