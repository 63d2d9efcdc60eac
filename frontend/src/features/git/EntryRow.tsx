import { Bot, Minus, Plus, Undo2 } from 'lucide-react'
import type { GitChange, GitEntry } from '@/api/git'
import { IconButton } from '@/components/ui/Button'
import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'
import { KINDS } from './kinds'

interface Props {
  entry: GitEntry
  change: GitChange
  staged: boolean
  current: boolean
  /** Whether the agent changed it in this conversation. */
  byAgent: boolean
  busy: boolean
  onSelect: () => void
  /** Null for those who may not change anything; then nothing is discarded either. */
  onMove: (() => void) | null
  onDiscard: () => void
}

/** A changed file: its diff is shown when it is chosen, and it is staged, or taken out of what is staged. */
export function EntryRow({
  entry,
  change,
  staged,
  current,
  byAgent,
  busy,
  onSelect,
  onMove,
  onDiscard,
}: Props) {
  const t = useT()
  const { letter, word, tone } = KINDS[change]
  const path = entry.is_folder ? `${entry.path}/` : entry.path
  return (
    <li
      className={cn(
        'flex items-center gap-0.5 rounded-md ps-1.5 pe-0.5 hover:bg-hover',
        current && 'bg-accent-soft hover:bg-accent-soft',
      )}
    >
      <button
        type="button"
        aria-current={current ? 'true' : undefined}
        onClick={onSelect}
        title={entry.from ? t('gitFrom', { path, from: entry.from }) : path}
        className="flex h-7 min-w-0 flex-1 items-center gap-1.5 text-start text-[13px] pointer-coarse:h-11"
      >
        <span
          aria-hidden
          className={cn('w-3.5 shrink-0 text-center font-mono font-semibold text-[12px]', tone)}
        >
          {letter}
        </span>
        <span className={cn('min-w-0 truncate', change === 'deleted' && 'line-through')} dir="auto">
          {path}
        </span>
        <span className="sr-only">{t(word)}</span>
        {byAgent && (
          <span title={t('gitByAgent')} className="shrink-0 text-accent">
            <Bot size={13} aria-hidden />
            <span className="sr-only">{t('gitByAgent')}</span>
          </span>
        )}
      </button>
      {onMove && !staged && !entry.is_folder && change !== 'conflict' && (
        <IconButton size="smallIcon" label={t('gitDiscard', { path })} disabled={busy} onClick={onDiscard}>
          <Undo2 size={13} aria-hidden />
        </IconButton>
      )}
      {onMove && (
        <IconButton
          size="smallIcon"
          label={t(staged ? 'gitUnstage' : 'gitStage', { path })}
          disabled={busy}
          onClick={onMove}
        >
          {staged ? <Minus size={14} aria-hidden /> : <Plus size={14} aria-hidden />}
        </IconButton>
      )}
    </li>
  )
}
