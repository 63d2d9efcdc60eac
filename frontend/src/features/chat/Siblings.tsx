import { ChevronLeft, ChevronRight } from 'lucide-react'
import { IconButton } from '@/components/ui/Button'
import { useT } from '@/lib/i18n'

interface Props {
  /** 0-based. */
  at: number
  count: number
  /** Null while the session runs. */
  onGo: ((at: number) => void) | null
}

/** Switches between the branches of a conversation at one message. */
export function Siblings({ at, count, onGo }: Props) {
  const t = useT()
  if (count < 2) return null
  return (
    <span className="inline-flex items-center text-fg-3 text-meta tabular-nums">
      <IconButton
        label={t('previousWay')}
        size="smallIcon"
        disabled={!onGo || at === 0}
        onClick={() => onGo?.(at - 1)}
      >
        <ChevronLeft size={14} aria-hidden />
      </IconButton>
      <span title={t('wayOf', { n: at + 1, of: count })}>
        <span aria-hidden>
          {at + 1}/{count}
        </span>
        <span className="sr-only">{t('wayOf', { n: at + 1, of: count })}</span>
      </span>
      <IconButton
        label={t('nextWay')}
        size="smallIcon"
        disabled={!onGo || at === count - 1}
        onClick={() => onGo?.(at + 1)}
      >
        <ChevronRight size={14} aria-hidden />
      </IconButton>
    </span>
  )
}
