import { X } from 'lucide-react'
import { IconButton } from '@/components/ui/Button'
import { useT } from '@/lib/i18n'

/** Removes a file from a message that is not sent yet. */
export function RemoveFile({ name, onRemove }: { name: string; onRemove: () => void }) {
  const t = useT()
  return (
    <IconButton label={t('removeFile', { name })} size="smallIcon" onClick={onRemove}>
      <X size={13} aria-hidden />
    </IconButton>
  )
}
