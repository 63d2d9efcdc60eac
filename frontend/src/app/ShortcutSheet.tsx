import { Dialog } from '@/components/ui/Dialog'
import { useT } from '@/lib/i18n'
import { ShortcutList } from './ShortcutList'

interface Props {
  open: boolean
  onOpenChange: (open: boolean) => void
}

export default function ShortcutSheet({ open, onOpenChange }: Props) {
  const t = useT()
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title={t('shortcuts')} description={t('keysHint')}>
      <ShortcutList />
    </Dialog>
  )
}
