import { ExternalLink } from 'lucide-react'
import { Visible } from '@/components/Visible'
import { useT } from '@/lib/i18n'
import { addressParts } from './elicitation'

/** An address that a server asks a person to open, whole, with its host set off. Only their click opens it. */
export function ElicitedAddress({ url, host }: { url: string; host: string }) {
  const t = useT()
  const [before, shownHost, after] = addressParts(url, host)
  // The server allows no other address; what is not one is not a link.
  const isWeb = /^https?:\/\//.test(url)
  return (
    <div className="space-y-2">
      <figure
        aria-label={t('elicitAddress')}
        className="rounded-md border bg-code p-2.5 font-mono text-[12px] text-fg-2 [overflow-wrap:anywhere]"
      >
        <Visible text={before} />
        <strong className="rounded-sm bg-accent-soft px-0.5 font-semibold text-accent">
          <Visible text={shownHost} />
        </strong>
        <Visible text={after} />
      </figure>
      {isWeb && (
        <a
          href={url}
          target="_blank"
          rel="noopener noreferrer"
          referrerPolicy="no-referrer"
          className="inline-flex h-8 max-w-full items-center gap-1.5 rounded-md border bg-card px-3 font-medium text-fg hover:bg-hover pointer-coarse:h-11"
        >
          <ExternalLink size={14} aria-hidden className="shrink-0" />
          <span className="truncate">{t('elicitOpen', { host })}</span>
        </a>
      )}
    </div>
  )
}
