import { CommandButton } from '@/components/CommandButton'
import { Button } from '@/components/ui/Button'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import { searchSettings } from '@/stores/ui'

/** What helps when the context is full. */
export function Remedies() {
  const t = useT()
  return (
    <span className="flex flex-wrap gap-1">
      <CommandButton command="compress" size="small">
        {t('compress')}
      </CommandButton>
      <Button
        size="small"
        look="ghost"
        title={t('raiseLimitHint')}
        onClick={() => searchSettings(t('parameterContextWindow'))}
      >
        {t('raiseLimit')}
      </Button>
      <CommandButton command="model" size="small" look="ghost">
        {t('modelChange')}
      </CommandButton>
    </span>
  )
}
