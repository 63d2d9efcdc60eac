import { Ellipsis, LifeBuoy, SlidersHorizontal, Star } from 'lucide-react'
import { useState } from 'react'
import type { ProviderModel } from '@/api/types'
import { Badge } from '@/components/ui/Badge'
import { IconButton } from '@/components/ui/Button'
import { Menu, MenuItem } from '@/components/ui/Menu'
import { cn } from '@/lib/cn'
import { compactNumber } from '@/lib/format'
import { type Translate, useT } from '@/lib/i18n'
import { makeDefault, makeFallback, setEnabled, setFavorite } from './changes'
import { ModelParameters } from './ModelParameters'

interface Props {
  model: ProviderModel
  /** Whether its provider can be changed here. */
  editable: boolean
}

/** A model: whether it can be chosen, what it can do, and its role. */
export function ModelRow({ model, editable }: Props) {
  const t = useT()
  const [parameters, setParameters] = useState(false)
  const { id, enabled, favorite } = model
  const name = model.label || model.name
  return (
    <li className="py-1 text-small">
      <div className="flex items-center gap-1.5">
        <IconButton
          size="smallIcon"
          label={t('modelFavorite', { name })}
          aria-pressed={favorite}
          onClick={() => void setFavorite(id, !favorite)}
        >
          <Star size={13} aria-hidden fill={favorite ? 'currentColor' : 'none'} />
        </IconButton>
        <span className={cn('min-w-0 flex-1 [overflow-wrap:anywhere]', !enabled && 'text-fg-3')}>{name}</span>
        <span className="flex flex-wrap items-center justify-end gap-1">
          {model.default && <Badge tone="ok">{t('modelDefaultBadge')}</Badge>}
          {model.fallback && <Badge>{t('modelFallbackBadge')}</Badge>}
          <Abilities model={model} t={t} />
        </span>
        {editable && (
          <input
            type="checkbox"
            className="size-4 shrink-0 accent-(--accent) pointer-coarse:size-6"
            aria-label={t('modelEnabled', { name })}
            title={t('modelEnabled', { name })}
            checked={enabled}
            onChange={() => void setEnabled(id, !enabled)}
          />
        )}
        {(enabled || editable) && (
          <Menu
            trigger={
              <IconButton size="smallIcon" label={t('modelSettings', { name })}>
                <Ellipsis size={14} aria-hidden />
              </IconButton>
            }
          >
            {enabled && !model.default && (
              <MenuItem icon={<Star size={13} aria-hidden />} onSelect={() => void makeDefault(id)}>
                {t('modelMakeDefault')}
              </MenuItem>
            )}
            {enabled && (
              <MenuItem
                icon={<LifeBuoy size={13} aria-hidden />}
                onSelect={() => void makeFallback(model.fallback ? null : id)}
              >
                {t(model.fallback ? 'modelNoFallback' : 'modelMakeFallback')}
              </MenuItem>
            )}
            {editable && (
              <MenuItem
                icon={<SlidersHorizontal size={13} aria-hidden />}
                onSelect={() => setParameters(!parameters)}
              >
                {t('modelParameters')}
              </MenuItem>
            )}
          </Menu>
        )}
      </div>
      {parameters && <ModelParameters model={model} onDone={() => setParameters(false)} />}
    </li>
  )
}

/** What is known of a model: nothing is shown that is only assumed. */
function Abilities({ model, t }: { model: ProviderModel; t: Translate }) {
  const { context_window: window, price, vision, thinking } = model
  const money = (amount: number) =>
    new Intl.NumberFormat('en', { style: 'currency', currency: price?.currency ?? 'USD' }).format(amount)
  return (
    <>
      {vision && (
        <span title={t('modelVisionHint')}>
          <Badge>{t('modelVision')}</Badge>
        </span>
      )}
      {(thinking === 'always' || thinking === 'switchable') && (
        <span title={t(thinking === 'always' ? 'modelThinksAlways' : 'modelThinksSwitch')}>
          <Badge>{t('modelThinks')}</Badge>
        </span>
      )}
      {price && (
        <span
          className="text-fg-3 text-meta tabular-nums"
          title={t('modelPriceHint', { input: money(price.input), output: money(price.output) })}
        >
          {`${money(price.input)} / ${money(price.output)}`}
        </span>
      )}
      {window.tokens != null && (
        <span
          className="text-fg-3 text-meta tabular-nums"
          title={t('modelContextHint', { n: window.tokens })}
        >
          {t('modelContext', { n: compactNumber(window.tokens) })}
        </span>
      )}
    </>
  )
}
