import { ArchiveRestore, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { Button, IconButton } from '@/components/ui/Button'
import { useT } from '@/lib/i18n'

interface Props {
  title: string
  /** When it was deleted or last used. */
  when: string
  onBringBack: () => void
  onForget: () => void
}

/** A deleted item: restores it, or deletes it permanently after a confirmation. */
export function DeletedRow({ title, when, onBringBack, onForget }: Props) {
  const t = useT()
  const [asking, setAsking] = useState(false)
  if (asking) {
    return (
      <li className="flex flex-wrap items-center gap-2 rounded-md border border-bad-line px-2.5 py-1.5 text-[13px]">
        <p role="alert" className="min-w-0 flex-1 basis-60 [overflow-wrap:anywhere]">
          {t('forgetAsk', { title })}
        </p>
        <span className="ms-auto flex gap-2">
          <Button size="small" autoFocus onClick={() => setAsking(false)}>
            {t('keep')}
          </Button>
          <Button size="small" look="danger" onClick={onForget}>
            {t('forget')}
          </Button>
        </span>
      </li>
    )
  }
  return (
    <li className="flex flex-wrap items-center gap-2 rounded-md border px-2.5 py-1.5 text-[13px]">
      <span className="min-w-0 flex-1 basis-40 truncate" title={title}>
        {title}
      </span>
      <span className="shrink-0 text-fg-3 text-meta tabular-nums">{when}</span>
      <Button size="small" onClick={onBringBack}>
        <ArchiveRestore size={13} aria-hidden />
        {t('bringBack')}
      </Button>
      <IconButton label={t('forgetThis', { title })} size="smallIcon" onClick={() => setAsking(true)}>
        <Trash2 size={14} aria-hidden />
      </IconButton>
    </li>
  )
}
