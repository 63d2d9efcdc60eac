import { useMemo } from 'react'
import { usePrompt } from '@/api/queries'
import { QueryError } from '@/components/ui/QueryError'
import { Skeleton } from '@/components/ui/Skeleton'
import { useT } from '@/lib/i18n'
import { useNewChoice } from '@/stores/choice'
import { Origins } from './Origins'
import { originsOf } from './parts'

interface Props {
  sessionId: string | null
  onLeave: () => void
}

/** The next request, before it is sent. */
export function NextRequest({ sessionId, onLeave }: Props) {
  const t = useT()
  const chosen = useNewChoice(s => s.chosen)
  const projectId = useNewChoice(s => s.projectId)
  const prompt = usePrompt(sessionId, { chosen, projectId })
  const origins = useMemo(() => (prompt.data ? originsOf(prompt.data) : []), [prompt.data])
  return (
    <>
      <p className="mb-2 text-fg-2 text-small">{t('xrayHint')}</p>
      {prompt.error && <QueryError error={prompt.error} />}
      {!prompt.data && !prompt.error && <Skeleton label={t('loading')} rows={5} />}
      {prompt.data && (
        <>
          <p className="mb-1 text-small tabular-nums">
            {t('xrayTotal', { tokens: prompt.data.total_tokens, bytes: prompt.data.total_bytes })}
            {prompt.data.left_out > 0 && (
              <span className="text-warn"> · {t('xrayDropped', { n: prompt.data.left_out })}</span>
            )}
          </p>
          <Origins origins={origins} total={prompt.data.total_tokens} onLeave={onLeave} />
        </>
      )}
    </>
  )
}
