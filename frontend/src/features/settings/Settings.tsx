import { Dialog } from '@/components/ui/Dialog'
import { useT } from '@/lib/i18n'
import { SECTIONS } from './sections'

interface Props {
  open: boolean
  onOpenChange: (open: boolean) => void
}

export default function Settings({ open, onOpenChange }: Props) {
  const t = useT()
  return (
    <Dialog size="wide" open={open} onOpenChange={onOpenChange} title={t('settings')}>
      <div className="space-y-5">
        {SECTIONS.map(({ id, title, hint, Content }) => (
          <section key={id} aria-labelledby={`settings-${id}`}>
            <h3 id={`settings-${id}`} className="mb-1.5 font-semibold text-[13.5px]">
              {t(title)}
            </h3>
            {hint && <p className="mb-2 text-fg-2 text-small">{t(hint)}</p>}
            <Content />
          </section>
        ))}
      </div>
    </Dialog>
  )
}
