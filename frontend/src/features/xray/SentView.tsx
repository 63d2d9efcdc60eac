import { useMemo } from 'react'
import { useSentDetail } from '@/api/queries'
import type { SentDetail } from '@/api/types'
import { CopyButton } from '@/components/ui/CopyButton'
import { QueryError } from '@/components/ui/QueryError'
import { Skeleton } from '@/components/ui/Skeleton'
import { moment } from '@/lib/format'
import { locale, useLang, useT } from '@/lib/i18n'
import { Difference } from './Difference'
import { Origins } from './Origins'
import { originsOfSent } from './sent'

interface Props {
  sessionId: string
  name: string
  onLeave: () => void
}

/** One request as it was sent. */
export function SentView({ sessionId, name, onLeave }: Props) {
  const t = useT()
  const sent = useSentDetail(sessionId, name)
  const detail = sent.data
  const origins = useMemo(() => (detail ? originsOfSent(detail.pieces) : []), [detail])
  if (sent.error) return <QueryError error={sent.error} />
  if (!detail) return <Skeleton label={t('loading')} rows={5} />
  return (
    <>
      <Totals detail={detail} />
      {detail.body == null && <p className="mb-2 text-small text-warn">{t('sentDamaged')}</p>}
      <Origins origins={origins} total={detail.total_tokens} onLeave={onLeave} />
      <Difference detail={detail} onLeave={onLeave} />
    </>
  )
}

function Totals({ detail }: { detail: SentDetail }) {
  const t = useT()
  const lang = useLang()
  const { usage, left_out } = detail
  return (
    <div className="mb-1 flex items-start gap-2">
      <p className="min-w-0 flex-1 text-small tabular-nums">
        {t('xrayTotal', { tokens: detail.total_tokens, bytes: detail.bytes })}
        {left_out > 0 && <span className="text-warn"> · {t('xrayDropped', { n: left_out })}</span>}
        <span className="block text-fg-3 text-meta">
          {[
            detail.model,
            moment(detail.at, locale(lang)),
            usage && t('sentUsage', { n: usage.input_tokens }),
            usage?.cached_tokens ? t('sentCached', { n: usage.cached_tokens }) : null,
          ]
            .filter(Boolean)
            .join(' · ')}
        </span>
      </p>
      {detail.body != null && (
        <CopyButton label={t('sentCopy')} text={() => JSON.stringify(detail.body, null, 2)} />
      )}
    </div>
  )
}
