import { Button } from '@/components/ui/Button'
import { Dialog } from '@/components/ui/Dialog'
import { useT } from '@/lib/i18n'
import '@/lib/later'

interface Props {
  onClose: () => void
  onConfirm: () => void
}

/** Asks before commands run without approval in a conversation. */
export default function ConfirmSandboxed({ onClose, onConfirm }: Props) {
  const t = useT()
  return (
    <Dialog open onOpenChange={open => !open && onClose()} title={t('sandboxedSure')}>
      <div className="space-y-2 text-[13px] text-fg-2">
        <p>{t('sandboxedMeans')}</p>
        <p>{t('sandboxedStill')}</p>
      </div>
      <div className="mt-4 flex flex-wrap justify-end gap-2">
        <Button onClick={onClose}>{t('cancel')}</Button>
        <Button look="solid" onClick={onConfirm}>
          {t('sandboxedConfirm')}
        </Button>
      </div>
    </Dialog>
  )
}
