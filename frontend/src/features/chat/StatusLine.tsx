import { Spinner } from '@/components/ui/Spinner'
import { type Key, type Lang, type Translate, useLang, useT } from '@/lib/i18n'
import type { Activity } from '@/thread/model'
import { Elapsed } from './Elapsed'

/** Translations by kind, for a page that is not in English: the server's own sentence is, and says more. */
const KINDS: Record<string, Key | undefined> = {
  reading_prompt: 'readingPrompt',
  starting_model: 'startingModel',
  waiting: 'waiting',
  retrying: 'retrying',
}

/** A kind that is not the server's has a message in the language of the page. */
function wordsOf({ kind, message }: Activity, lang: Lang, t: Translate): string {
  const key = KINDS[kind]
  const isPlain = kind === 'reading_prompt' || lang !== 'en' || message === ''
  return key && isPlain ? t(key) : message || t('waiting')
}

export function StatusLine({ activity, since }: { activity: Activity | null; since: number | null }) {
  const t = useT()
  const lang = useLang()
  const words = activity === null ? t('working') : wordsOf(activity, lang, t)
  return (
    <p className="flex items-center gap-2 text-[13px] text-fg-2">
      <Spinner className="text-accent" />
      <span className="min-w-0 [overflow-wrap:anywhere]">{words}</span>
      {activity?.progress != null && (
        <span className="tabular-nums">{t('percent', { n: Math.round(activity.progress * 100) })}</span>
      )}
      <Elapsed since={since} />
    </p>
  )
}
