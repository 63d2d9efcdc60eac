import { Bar } from '@/components/ui/Bar'
import { fileSize } from '@/lib/format'
import { useT } from '@/lib/i18n'
import type { ChosenFolder, Progress } from './folder'

interface Props {
  folder: ChosenFolder
  progress: Progress
}

/** How much of a folder is uploaded. */
export function UploadProgress({ folder, progress: { sent, done, sentAll, waiting } }: Props) {
  const t = useT()
  const n = folder.files.length
  const words = sentAll
    ? t('projectFinishing')
    : waiting
      ? t('projectWaiting', { done, n })
      : t('projectProgress', { sent: fileSize(sent), total: fileSize(folder.bytes), done, n })
  const share = folder.bytes > 0 ? sent / folder.bytes : done / n
  return (
    <div
      role="progressbar"
      aria-label={t('projectUploading')}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(share * 100)}
      aria-valuetext={words}
      className="space-y-1"
    >
      <Bar className="w-full" parts={[{ share, className: 'bg-accent' }]} />
      <p aria-hidden className="text-fg-2 text-small tabular-nums">
        {words}
      </p>
    </div>
  )
}
