import { AlertDialog } from 'radix-ui'
import { useT } from '@/lib/i18n'
import { Button } from './Button'

interface Props {
  open: boolean
  title: string
  body: string
  action: string
  onConfirm: () => void
  onOpenChange: (open: boolean) => void
}

export function ConfirmDialog({ open, title, body, action, onConfirm, onOpenChange }: Props) {
  const t = useT()
  return (
    <AlertDialog.Root open={open} onOpenChange={onOpenChange}>
      <AlertDialog.Portal>
        <AlertDialog.Overlay className="fixed inset-0 z-40 bg-black/30" />
        <AlertDialog.Content className="floating appear fixed inset-x-0 top-[20%] z-50 mx-auto w-[min(440px,94vw)] rounded-xl p-5">
          <AlertDialog.Title className="font-semibold text-[15px]">{title}</AlertDialog.Title>
          <AlertDialog.Description className="mt-2 text-[13px] text-fg-2">{body}</AlertDialog.Description>
          <div className="mt-4 flex justify-end gap-2">
            <AlertDialog.Cancel asChild>
              <Button>{t('cancel')}</Button>
            </AlertDialog.Cancel>
            <AlertDialog.Action asChild>
              <Button look="solid" onClick={onConfirm}>
                {action}
              </Button>
            </AlertDialog.Action>
          </div>
        </AlertDialog.Content>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  )
}
