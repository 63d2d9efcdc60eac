import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'
import { PRESETS, type Preset } from './presets'

interface Props {
  /** Null: another provider, by its address. */
  chosen: Preset | null
  onChoose: (preset: Preset | null) => void
}

/** The known providers, and any other. */
export function ProviderChoice({ chosen, onChoose }: Props) {
  const t = useT()
  return (
    <div role="group" aria-label={t('provider')} className="flex flex-wrap gap-1.5">
      {[...PRESETS, null].map(preset => (
        <button
          key={preset?.name ?? ''}
          type="button"
          aria-pressed={preset === chosen}
          onClick={() => onChoose(preset)}
          className={cn(
            'h-8 rounded-full border px-3 text-small transition-colors pointer-coarse:h-11 pointer-coarse:px-4',
            preset === chosen
              ? 'border-accent bg-sel font-medium text-fg'
              : 'bg-card text-fg-2 hover:border-accent hover:text-fg',
          )}
        >
          {preset?.name ?? t('providerOther')}
        </button>
      ))}
    </div>
  )
}
