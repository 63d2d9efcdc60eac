import { FileText, Undo2 } from 'lucide-react'
import type { ReactNode } from 'react'
import type { ChangedFile } from '@/api/types'
import { Banner } from '@/components/ui/Banner'
import { Button } from '@/components/ui/Button'
import { Visible } from '@/components/Visible'
import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'
import { FileRef, shownPath } from '@/lib/roots'
import { ChangeContent } from './ChangeContent'
import { contentOf, KINDS, modeChange, UNDO_REASONS } from './kinds'
import { LineCounts } from './LineCounts'
import type { View } from './TextDiff'

interface Props {
  sessionId: string
  file: ChangedFile
  work: string | null
  view: View
  /** What stands before the name: the way back, on a narrow screen. */
  back: ReactNode
  /** The choice of how texts are compared. */
  views: ReactNode
  onOpen: () => void
  /** Null while the conversation runs. */
  onUndo: (() => void) | null
}

/** One changed file: what happened to it, its two versions, and what can be done about it. */
export function FileChange({ sessionId, file, work, view, back, views, onOpen, onUndo }: Props) {
  const t = useT()
  const { path, kind, renamed_from, undo } = file
  const content = contentOf(file)
  const mode = modeChange(file)
  const { word, tone } = KINDS[kind]
  const reason = undo === 'possible' ? null : UNDO_REASONS[undo]
  return (
    <article aria-label={shownPath(path)} className="flex min-h-0 flex-1 flex-col gap-2">
      <header className="flex flex-wrap items-center gap-x-2 gap-y-1">
        {back}
        <h3 className="min-w-0 break-all font-mono font-normal text-[12px]">
          <Visible text={shownPath(path)} />
        </h3>
        <span className={cn('text-small', tone)}>{t(word)}</span>
        <LineCounts file={file} />
        {mode && <span className="text-fg-2 text-small">{t(mode)}</span>}
        {renamed_from && (
          <span className="min-w-0 break-all text-fg-2 text-small">
            <Visible text={t('changeRenamedFrom', { path: shownPath(renamed_from) })} />
          </span>
        )}
        <div className="ms-auto flex flex-wrap items-center gap-2">
          {content === 'text' && views}
          {!(file.deleted_since || (kind === 'deleted' && !file.changed_since)) && FileRef.parse(path) && (
            <Button size="small" onClick={onOpen}>
              <FileText size={13} aria-hidden />
              {t('changeOpen')}
            </Button>
          )}
          <Button size="small" disabled={reason !== null || onUndo === null} onClick={() => onUndo?.()}>
            <Undo2 size={13} aria-hidden />
            {t('changeUndoFile')}
          </Button>
        </div>
      </header>
      {file.changed_since && (
        <Banner tone="warn">{t(file.deleted_since ? 'changeDeletedSince' : 'changeSince')}</Banner>
      )}
      {reason && !file.changed_since && <p className="text-fg-2 text-small">{t(reason)}</p>}
      <div className="scroll min-h-0 flex-1">
        <ChangeContent key={path} source={{ sessionId, work }} file={file} view={view} />
      </div>
    </article>
  )
}
