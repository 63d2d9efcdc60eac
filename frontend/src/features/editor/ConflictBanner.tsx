import { TriangleAlert } from 'lucide-react'
import { Button } from '@/components/ui/Button'
import { useT } from '@/lib/i18n'
import type { Buffer } from './buffer'

interface Props {
  buffer: Buffer
  comparing: boolean
  onCompare: () => void
  onLoadDisk: () => void
  onKeepMine: () => void
}

/** The disk and the text disagree. Saving waits until the person has chosen. */
export function ConflictBanner({ buffer, comparing, onCompare, onLoadDisk, onKeepMine }: Props) {
  const t = useT()
  const { state } = buffer
  if (state.kind !== 'conflict' && state.kind !== 'deleted' && buffer.problem === null) return null
  const asked =
    state.kind === 'conflict'
      ? t(state.by === 'run' ? 'conflictRun' : 'conflictText')
      : state.kind === 'deleted' && t('deletedText')
  const failed = buffer.problem !== null && t('saveFailed', { reason: buffer.problem })
  return (
    <div
      role="alert"
      className="flex flex-wrap items-center gap-2 border-warn-line border-b bg-warn-soft px-3 py-2 text-small text-warn"
    >
      <TriangleAlert size={14} aria-hidden className="shrink-0" />
      <span className="min-w-[10rem] flex-1">{[asked, failed].filter(Boolean).join(' ')}</span>
      {state.kind === 'conflict' && (
        <div className="flex flex-wrap gap-1.5">
          <Button size="small" aria-pressed={comparing} onClick={onCompare}>
            {t(comparing ? 'compareEnd' : 'compare')}
          </Button>
          <Button size="small" onClick={onLoadDisk}>
            {t('loadDisk')}
          </Button>
          <Button size="small" onClick={onKeepMine}>
            {t('keepMine')}
          </Button>
        </div>
      )}
    </div>
  )
}
