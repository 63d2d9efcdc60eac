import { useStatus } from '@/api/queries'
import { ConfirmDialog } from '@/components/ui/ConfirmDialog'
import { ModelDialog } from '@/features/model/ModelDialog'
import { useT } from '@/lib/i18n'
import { toast } from '@/stores/toasts'
import { type DialogName, useUi } from '@/stores/ui'
import { ShortcutSheet } from './ShortcutSheet'
import { compressSession } from './threads'

export function Dialogs({ sessionId }: { sessionId: string | null }) {
  const t = useT()
  const { dialog, set } = useUi()
  const model = useStatus().data?.model
  const props = (name: DialogName) => ({
    open: dialog === name,
    onOpenChange: (open: boolean) => set({ dialog: open ? name : null }),
  })
  return (
    <>
      <ShortcutSheet {...props('shortcuts')} />
      <ModelDialog model={model} {...props('model')} />
      <ConfirmDialog
        {...props('compress')}
        title={t('compressTitle')}
        body={t('compressBody')}
        action={t('compressDo')}
        onConfirm={() => {
          if (!sessionId) return
          toast(t('compressing'))
          void compressSession(sessionId)
        }}
      />
    </>
  )
}
