import { TriangleAlert } from 'lucide-react'
import { Banner } from '@/components/ui/Banner'
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

/** Shown when the file on disk and the text disagree. Saving waits until the person has chosen. */
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
    <Banner
      tone="warn"
      icon={TriangleAlert}
      role="alert"
      actions={
        state.kind === 'conflict' && (
          <>
            <Button size="small" aria-pressed={comparing} onClick={onCompare}>
              {t(comparing ? 'compareEnd' : 'compare')}
            </Button>
            <Button size="small" onClick={onLoadDisk}>
              {t('loadDisk')}
            </Button>
            <Button size="small" onClick={onKeepMine}>
              {t('keepMine')}
            </Button>
          </>
        )
      }
    >
      {[asked, failed].filter(Boolean).join(' ')}
    </Banner>
  )
}
