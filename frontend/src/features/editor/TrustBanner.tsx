import { ShieldAlert } from 'lucide-react'
import { sameEtag } from '@/api/endpoints'
import { useTrust } from '@/api/queries'
import { Banner } from '@/components/ui/Banner'
import { Button } from '@/components/ui/Button'
import { moment } from '@/lib/format'
import { locale, useLang, useT } from '@/lib/i18n'
import type { FileRef } from '@/lib/roots'
import { review, trustVersion } from './trustActions'

interface Props {
  file: FileRef
  /** The version that is shown; null if the file cannot be shown. */
  etag: string | null
  /** The text has unsaved edits. Saving trusts them, so there is nothing to confirm. */
  typed: boolean
  comparing: boolean
}

/** A banner for a file with instructions whose current version nobody has trusted. */
export default function TrustBanner({ file, etag, typed, comparing }: Props) {
  const t = useT()
  const lang = useLang()
  const trust = useTrust(`${file}`).data
  if (!trust || trust.trusted) return null
  const seen = etag === null || sameEtag(etag, trust.etag)
  const last = trust.last
  const before = last?.text ?? null
  return (
    <Banner
      tone="warn"
      icon={ShieldAlert}
      role="status"
      actions={
        <>
          {before !== null && etag !== null && (
            <Button
              size="small"
              aria-pressed={comparing}
              onClick={() => review(file, comparing ? null : before)}
            >
              {t(comparing ? 'compareEnd' : 'trustReview')}
            </Button>
          )}
          <Button size="small" disabled={!seen || typed} onClick={() => void trustVersion(file, trust.etag)}>
            {t('trustThis')}
          </Button>
        </>
      }
    >
      {last ? t('trustChanged', { at: moment(last.at, locale(lang)) }) : t('trustNew')}
    </Banner>
  )
}
