import { Dialog } from '@/components/ui/Dialog'
import { Kbd } from '@/components/ui/Kbd'
import { useT } from '@/lib/i18n'
import { SHORTCUTS, WRITING_KEYS } from './shortcuts'

export default function ShortcutSheet({
  open,
  onOpenChange,
}: {
  open: boolean
  onOpenChange: (open: boolean) => void
}) {
  const t = useT()
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title={t('shortcuts')}>
      <dl className="divide-y text-[13px]">
        {[...SHORTCUTS, ...WRITING_KEYS].map(({ label, shown }) => (
          <div key={label} className="flex items-center justify-between gap-4 py-1.5">
            <dt>{t(label)}</dt>
            <dd className="flex gap-1">
              {shown.map(key => (
                <Kbd key={key}>{key}</Kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
