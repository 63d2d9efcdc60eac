import type { Search } from '@/api/types'
import { Button } from '@/components/ui/Button'
import { Slider } from '@/components/ui/Slider'
import { FEWEST, MOST, type Trial } from '@/features/retrieval/address'
import { isForeign } from '@/features/retrieval/ranking'
import { points, weightWords } from '@/features/retrieval/words'
import { useT } from '@/lib/i18n'

interface Props {
  search: Search
  trial: Trial
  onChange: (patch: Partial<Trial>) => void
}

/** The weight of the two retrievers, and how many passages are handed on. The server's own choice stays marked. */
export function Weigh({ search, trial, onChange }: Props) {
  const t = useT()
  const { weights } = search
  const weight = trial.weight ?? weights.vector
  const all = [...search.hits, ...search.near_misses.map(miss => miss.hit)]
  const oneSided = !all.some(hit => hit.how?.vector)
  const foreign = all.some(hit => hit.how && isForeign(hit.how, weights))
  return (
    <div className="text-fg-2 text-small">
      <div className="flex flex-wrap gap-x-6">
        <div className="flex flex-[3_1_20rem] items-center gap-2">
          <span className="shrink-0 text-accent">{t('legWords')}</span>
          <Slider
            label={t('weightLabel')}
            text={t('weightText', { meaning: points(weight), words: points(1 - weight) })}
            min={0}
            max={1}
            step={0.05}
            value={weight}
            mark={weights.vector}
            disabled={oneSided}
            onChange={value => onChange({ weight: value === weights.vector ? null : value })}
          />
          <span className="shrink-0 text-rag">{t('legMeaning')}</span>
          <output className="w-9 shrink-0 text-end font-medium text-fg tabular-nums">{points(weight)}</output>
        </div>
        <div className="flex flex-[1_1_11rem] items-center gap-2">
          <span className="shrink-0">{t('handOn')}</span>
          <Slider
            label={t('handOnLabel')}
            text={String(trial.k)}
            min={FEWEST}
            max={MOST}
            step={1}
            value={trial.k}
            onChange={k => onChange({ k })}
          />
          <output className="w-5 shrink-0 text-end font-medium text-fg tabular-nums">{trial.k}</output>
        </div>
      </div>
      <p className="flex min-h-6 items-center gap-x-2 text-fg-3 text-meta">
        <span className="min-w-0">
          {t('weightServer', { n: points(weights.vector), why: weightWords(weights.reason, t) })}
          {oneSided && ` ${t('weightIdle')}`}
          {foreign && ` ${t('weightOther', { n: points(weights.other_script) })}`}
        </span>
        {trial.weight !== null && (
          <Button
            size="small"
            look="ghost"
            className="h-6! text-accent!"
            onClick={() => onChange({ weight: null })}
          >
            {t('weightReset')}
          </Button>
        )}
      </p>
    </div>
  )
}
