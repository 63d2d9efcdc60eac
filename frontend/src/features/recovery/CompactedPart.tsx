import { Undo2 } from 'lucide-react'
import type { CompactedPart as Part } from '@/api/types'
import { Button } from '@/components/ui/Button'
import { moment } from '@/lib/format'
import { locale, useLang, useSay, useT } from '@/lib/i18n'
import { textIn } from '@/lib/server'

interface Props {
  part: Part
  onRead: () => void
  onBringBack: () => void
}

/** Messages that a summary stands for: to read, and to restore if possible. */
export function CompactedPart({ part, onRead, onBringBack }: Props) {
  const t = useT()
  const say = useSay()
  const lang = useLang()
  const { message_count, archived_at, summary, restored, stays } = part
  return (
    <li className="rounded-md border px-2.5 py-1.5 text-[13px]">
      <div className="flex flex-wrap items-center gap-2">
        <span className="min-w-0 flex-1">
          {t('compactedAt', { at: moment(archived_at, locale(lang)), n: message_count })}
        </span>
        <Button size="small" onClick={onRead}>
          {t('read')}
        </Button>
        {!stays && (
          <Button size="small" onClick={onBringBack}>
            <Undo2 size={13} aria-hidden />
            {t('putBack')}
          </Button>
        )}
      </div>
      {summary && <p className="mt-1 line-clamp-2 text-fg-2 text-small">{summary}</p>}
      {restored ? (
        <p className="mt-0.5 text-fg-3 text-small">{t('isBack')}</p>
      ) : (
        stays && (
          <p className="mt-0.5 text-fg-3 text-small">{t('staysCompacted', { reason: textIn(say, stays) })}</p>
        )
      )}
    </li>
  )
}
