import { Cpu, Plug, Star, TriangleAlert } from 'lucide-react'
import type { Chosen, ModelStatus, Models } from '@/api/types'
import { Button } from '@/components/ui/Button'
import { Menu, MenuItem } from '@/components/ui/Menu'
import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'
import { effective, nameOf, withModel } from './choice'
import { fromIn, stateOf } from './words'

interface Props {
  /** The model that answers if none was chosen. */
  model: ModelStatus
  models: Models | undefined
  chosen: Chosen
  onChoose: (chosen: Chosen) => void
  onConnect: () => void
}

/** Chooses the model of this conversation from its next message on. */
export function ModelPicker({ model, models, chosen, onChoose, onConnect }: Props) {
  const t = useT()
  const choice = models ? effective(models, chosen) : null
  const own = choice?.kind === 'chosen'
  const gone = choice?.kind === 'gone'
  const state = stateOf(model, t)
  const standard = model.label || (state.tone === 'idle' ? state.words : t('model'))
  const small = model.small && model.state === 'ready'
  const note = gone
    ? t('modelGone')
    : own
      ? null
      : small
        ? t('modelSmallShort')
        : state.tone === 'ok' || state.tone === 'idle'
          ? null
          : state.words
  const bad = gone || (!own && state.tone === 'bad')
  const name = gone ? choice.id : own ? nameOf(choice.candidate) : standard
  const choose = (id: string | null) => models && onChoose(withModel(models, chosen, id))
  const available = models?.available ?? []
  // The default model has an item of its own.
  const favorites = models?.favorites ?? []
  const isFavorite = ({ id }: { id: string }) => favorites.includes(id)
  const others = available
    .filter(({ id }) => id !== models?.default_id || id === chosen.model)
    .toSorted((a, b) => Number(isFavorite(b)) - Number(isFavorite(a)))
  const trigger = (
    <Button
      size="small"
      look="ghost"
      className="my-0.5 min-w-0 max-w-full shrink! pointer-coarse:my-1"
      aria-label={t('modelChoose', { name })}
      title={t('modelChoose', { name })}
    >
      {bad ? (
        <TriangleAlert size={14} aria-hidden className="shrink-0 text-bad" />
      ) : (
        <Cpu size={14} aria-hidden className="shrink-0" />
      )}
      <span className={cn('truncate', note && !gone && 'max-md:hidden')}>{name}</span>
      {note && (
        <span className={cn('min-w-0 truncate font-normal', bad ? 'text-bad' : 'text-warn')}>
          <span className="max-md:hidden">· </span>
          {note}
        </span>
      )}
    </Button>
  )
  return (
    <Menu trigger={trigger} align="start">
      <MenuItem icon={<Cpu size={14} aria-hidden />} checked={!chosen.model} onSelect={() => choose(null)}>
        {t('modelDefault', { name: standard })}
      </MenuItem>
      {(available.length > 1 || chosen.model) &&
        others.map(candidate => (
          <MenuItem
            key={candidate.id}
            icon={isFavorite(candidate) ? <Star size={14} aria-hidden /> : <Cpu size={14} aria-hidden />}
            checked={own && choice.candidate.id === candidate.id}
            onSelect={() => choose(candidate.id)}
          >
            <span className="min-w-0 flex-1 truncate">{nameOf(candidate)}</span>
            <span className="shrink-0 font-normal text-fg-3 text-meta">{fromIn(candidate.from, t)}</span>
          </MenuItem>
        ))}
      <MenuItem icon={<Plug size={14} aria-hidden />} onSelect={onConnect}>
        {t('modelConnect')}
      </MenuItem>
    </Menu>
  )
}
