import { useEffect, useState } from 'react'
import { Spinner } from '@/components/ui/Spinner'
import { type Key, type Lang, type Translate, useLang, useT } from '@/lib/i18n'
import type { Activity } from '@/thread/model'

/** Shorter waits do not show a duration. */
const PATIENCE_SECONDS = 3

/** Translations by kind, for a page that is not in English: the server's own sentence is, and says more. */
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

/** A kind that is not the server's has a message in the language of the page. */
function wordsOf({ kind, message }: Activity, lang: Lang, t: Translate): string {
  const key = KINDS[kind]
  const isPlain = kind === 'reading_prompt' || lang !== 'en' || message === ''
  return key && isPlain ? t(key) : message || t('waiting')
}

export function StatusLine({ activity, since }: { activity: Activity | null; since: number | null }) {
  const t = useT()
  const elapsed = useElapsed(since)
  const lang = useLang()
  const words = activity === null ? t('working') : wordsOf(activity, lang, t)
  return (
    <p className="flex items-center gap-2 text-[13px] text-fg-2">
      <Spinner className="text-accent" />
      <span className="min-w-0 [overflow-wrap:anywhere]">{words}</span>
      {activity?.progress != null && (
        <span className="tabular-nums">{t('percent', { n: Math.round(activity.progress * 100) })}</span>
      )}
      {elapsed >= PATIENCE_SECONDS && (
        <span className="text-fg-3 text-meta tabular-nums">{t('seconds', { n: elapsed })}</span>
      )}
    </p>
  )
}
