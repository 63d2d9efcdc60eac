import { ArrowLeft } from 'lucide-react'
import type { DiffOf } from '@/api/git'
import { useGitDiff } from '@/api/git'
import { DiffView } from '@/components/DiffView'
import { IconButton } from '@/components/ui/Button'
import { QueryError } from '@/components/ui/QueryError'
import { Skeleton } from '@/components/ui/Skeleton'
import { useT } from '@/lib/i18n'

interface Props {
  id: string
  title: string
  wanted: DiffOf
  /** On a narrow screen: shows the list again. */
  onBack: (() => void) | null
}

/** The diff of a file or of a commit. */
export function DiffPane({ id, title, wanted, onBack }: Props) {
  const t = useT()
  const { data, error } = useGitDiff(id, wanted)
  return (
    <section aria-label={title} className="flex min-h-0 min-w-0 flex-1 flex-col gap-2">
      <div className="flex items-center gap-2">
        {onBack && (
          <IconButton label={t('back')} size="fieldIcon" onClick={onBack}>
            <ArrowLeft size={15} aria-hidden />
          </IconButton>
        )}
        <h3 className="min-w-0 flex-1 truncate font-medium text-[13px]" title={title}>
          {title}
        </h3>
        {data && (
          <span className="shrink-0 text-small tabular-nums">
            <span className="text-ok">+{data.added}</span> <span className="text-bad">−{data.removed}</span>
          </span>
        )}
      </div>
      {error ? (
        <QueryError error={error} />
      ) : !data ? (
        <Skeleton label={t('loading')} rows={8} />
      ) : (
        <>
          {data.is_binary && <p className="text-fg-2 text-small">{t('gitBinary')}</p>}
          {data.is_cut && <p className="text-fg-2 text-small">{t('gitCut')}</p>}
          {data.text !== '' ? (
            <div className="scroll min-h-0 flex-1 [&>div]:max-h-none">
              <DiffView diff={data.text} label={title} />
            </div>
          ) : (
            !data.is_binary && <p className="text-fg-2 text-small">{t('gitNoLines')}</p>
          )}
        </>
      )}
    </section>
  )
}
