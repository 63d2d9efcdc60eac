import { useEffect, useState } from 'react'
import { Spinner } from '@/components/ui/Spinner'
import { type Key, useLang, useT } from '@/lib/i18n'
import type { Activity } from '@/thread/model'

/** Shorter waits do not show a duration. */
const PATIENCE_SECONDS = 3

/** Translations by kind. The server's own sentence, which is English, is more specific. */
const KINDS: Record<string, Key | undefined> = {
  reading_prompt: 'readingPrompt',
  starting_model: 'startingModel',
  waiting: 'waiting',
  retrying: 'retrying',
}

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

export function StatusLine({ activity, since }: { activity: Activity | null; since: number | null }) {
  const t = useT()
  const elapsed = useElapsed(since)
  const lang = useLang()
  const told = activity === null || activity.kind === 'reading_prompt' ? '' : activity.message
  const words = t(activity === null ? 'working' : (KINDS[activity.kind] ?? 'waiting'))
  return (
    <p className="flex items-center gap-2 text-[13px] text-fg-2">
      <Spinner className="text-accent" />
      <span className="min-w-0 [overflow-wrap:anywhere]">
        {lang === 'en' ? told || words : words}
        {lang !== 'en' && told && (
          <span lang="en" className="ms-2 text-fg-3 text-meta">
            {told}
          </span>
        )}
      </span>
      {activity?.progress != null && (
        <span className="tabular-nums">{t('percent', { n: Math.round(activity.progress * 100) })}</span>
      )}
      {elapsed >= PATIENCE_SECONDS && (
        <span className="text-fg-3 text-meta tabular-nums">{t('seconds', { n: elapsed })}</span>
      )}
    </p>
  )
}
