import { CommandButton } from '@/components/CommandButton'
import { useT } from '@/lib/i18n'

/** What helps when the context is full. */
export function Remedies() {
  const t = useT()
  return (
    <span className="flex gap-1">
      <CommandButton command="compress" size="small">
        {t('compress')}
      </CommandButton>
      <CommandButton command="model" size="small" look="ghost">
        {t('modelChange')}
      </CommandButton>
    </span>
  )
}
