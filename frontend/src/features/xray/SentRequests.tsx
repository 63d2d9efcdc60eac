import { useState } from 'react'
import { useSent } from '@/api/queries'
import type { SentSummary } from '@/api/types'
import { QueryError } from '@/components/ui/QueryError'
import { Segmented } from '@/components/ui/Segmented'
import { Skeleton } from '@/components/ui/Skeleton'
import { type Translate, useT } from '@/lib/i18n'
import { SentView } from './SentView'

interface Props {
  sessionId: string
  work: string
  onLeave: () => void
}

/** The requests that produced one answer: one for each dialogue with the model. */
export function SentRequests({ sessionId, work, onLeave }: Props) {
  const t = useT()
  const sent = useSent(sessionId, work)
  const [picked, setPicked] = useState<string | null>(null)
  const all = sent.data ?? []
  const name = picked ?? all.at(-1)?.name
  if (sent.error) return <QueryError error={sent.error} />
  if (!sent.data) return <Skeleton label={t('loading')} rows={5} />
  if (name === undefined) return <p className="text-fg-2 text-small">{t('sentNone')}</p>
  return (
    <>
      <p className="mb-2 text-fg-2 text-small">{t('sentHint')}</p>
      {all.length > 1 && (
        <div className="scroll mb-3 w-fit max-w-full">
          <Segmented
            label={t('sentRounds')}
            value={name}
            options={all.map(request => ({ value: request.name, words: roundOf(request, t) }))}
            onChange={setPicked}
          />
        </div>
      )}
      <SentView key={name} sessionId={sessionId} name={name} onLeave={onLeave} />
    </>
  )
}

const roundOf = ({ dialogue, attempt }: SentSummary, t: Translate): string =>
  attempt === 0 ? t('sentRound', { n: dialogue + 1 }) : t('sentAgain', { n: dialogue + 1, m: attempt + 1 })
