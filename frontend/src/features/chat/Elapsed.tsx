import { useEffect, useState } from 'react'
import { useT } from '@/lib/i18n'

/** Shorter waits do not show a duration. */
const PATIENCE_SECONDS = 3

/** Whole seconds since `since` (Unix seconds), or since the first render. */
function useElapsed(since: number | null): number {
  const [start] = useState(() => (since === null ? Date.now() : since * 1000))
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000)
    return () => clearInterval(timer)
  }, [])
  return Math.max(0, Math.floor((now - start) / 1000))
}

/** How long something has been running since `since` (Unix seconds), or since this was shown. */
export function Elapsed({ since }: { since: number | null }) {
  const t = useT()
  const elapsed = useElapsed(since)
  if (elapsed < PATIENCE_SECONDS) return null
  return <span className="shrink-0 text-fg-3 text-meta tabular-nums">{t('seconds', { n: elapsed })}</span>
}
