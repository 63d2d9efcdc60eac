import { FileDiff } from 'lucide-react'
import type { LaterFileUndo } from '@/api/types'
import { DiffView } from '@/components/DiffView'
import { Visible } from '@/components/Visible'
import { useT } from '@/lib/i18n'
import { shownPath } from '@/lib/roots'

/** The effect of an undo on one file. */
export function FileUndoing({ file }: { file: LaterFileUndo }) {
  const t = useT()
  const { diff, added, removed } = file
  const path = shownPath(file.path)
  return (
    <section aria-label={path} className="text-[13px]">
      <h3 className="mb-1 flex flex-wrap items-center gap-x-2 font-normal">
        <FileDiff size={14} aria-hidden className="shrink-0 text-fg-3" />
        <span className="min-w-0 truncate font-mono text-[12px]">
          <Visible text={path} />
        </span>
        {diff != null && added + removed > 0 && (
          <span className="font-mono text-[12px] tabular-nums">
            <span className="text-ok">+{added}</span> <span className="text-bad">−{removed}</span>
          </span>
        )}
      </h3>
      {diff == null ? (
        <p className="text-warn">{t('undoStays')}</p>
      ) : (
        diff !== '' && <DiffView diff={diff} label={t('undoDiff', { path })} />
      )}
    </section>
  )
}
