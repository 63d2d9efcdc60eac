import { ShieldAlert } from 'lucide-react'
import { sameEtag } from '@/api/endpoints'
import { useTrust } from '@/api/queries'
import { Button } from '@/components/ui/Button'
import { moment } from '@/lib/format'
import { locale, useLang, useT } from '@/lib/i18n'
import { review, trustVersion } from './trustActions'

interface Props {
  path: string
  /** Of the version that is shown; null where the file cannot be shown. */
  etag: string | null
  /** Typed text is trusted when it is saved, so that there is nothing to confirm. */
  typed: boolean
  comparing: boolean
}

/** A file of a skill in a version that nobody has trusted yet. */
export default function TrustBanner({ path, etag, typed, comparing }: Props) {
  const t = useT()
  const lang = useLang()
  const trust = useTrust(path).data
  if (!trust || trust.trusted) return null
  const seen = etag === null || sameEtag(etag, trust.etag)
  const last = trust.last
  const before = last?.text ?? null
  return (
    <div
      role="status"
      className="flex flex-wrap items-center gap-2 border-warn-line border-b bg-warn-soft px-3 py-2 text-small text-warn"
    >
      <ShieldAlert size={14} aria-hidden className="shrink-0" />
      <span className="min-w-[10rem] flex-1">
        {last ? t('trustChanged', { at: moment(last.at, locale(lang)) }) : t('trustNew')}
      </span>
      <div className="flex flex-wrap gap-1.5">
        {before !== null && etag !== null && (
          <Button
            size="small"
            aria-pressed={comparing}
            onClick={() => review(path, comparing ? null : before)}
          >
            {t(comparing ? 'compareEnd' : 'trustReview')}
          </Button>
        )}
        <Button size="small" disabled={!seen || typed} onClick={() => void trustVersion(path, trust.etag)}>
          {t('trustThis')}
        </Button>
      </div>
    </div>
  )
}
