import type { Search, SearchedTerm, Took } from '@/api/types'
import { points } from '@/features/retrieval/words'
import { cn } from '@/lib/cn'
import { fixed } from '@/lib/format'
import { type Key, useT } from '@/lib/i18n'

const STEPS: readonly [keyof Took, Key][] = [
  ['refresh', 'tookRefresh'],
  ['lexical', 'tookWords'],
  ['embed', 'tookQuestion'],
  ['vector', 'tookMeaning'],
  ['fuse', 'tookOrder'],
]
const ms = (us: number): string => fixed(us / 1000, us < 1000 ? 2 : 1)

/** The question as it was searched, the words left out of it, and the duration of each step. */
export function Asked({ search, shown }: { search: Search; shown: number }) {
  const t = useT()
  const { terms, ignored, embedded, took_us: took } = search
  const total = STEPS.reduce((sum, [step]) => sum + took[step], 0)
  return (
    <div className="space-y-1.5 text-fg-3 text-meta">
      <ul aria-label={t('searchedAs')} className="flex flex-wrap gap-1">
        {terms.map(term => (
          <Term key={term.term} term={term} />
        ))}
        {ignored.length > 0 && (
          <li className="py-0.5">
            {t('leftOut')} <s>{ignored.join(', ')}</s>
          </li>
        )}
      </ul>
      <p className="flex flex-wrap gap-x-3 tabular-nums">
        <span>{t('candidates', { n: shown })}</span>
        {embedded.done < embedded.total && <span>{t('indexVectors', embedded)}</span>}
        <span>
          {t('ms', { n: ms(total) })}
          {': '}
          {STEPS.map(([step, key]) => `${t(key)} ${ms(took[step])}`).join(' · ')}
        </span>
      </p>
    </div>
  )
}

function Term({ term: { term, texts, idf } }: { term: SearchedTerm }) {
  const t = useT()
  const missing = texts === 0
  return (
    <li
      className={cn(
        'flex items-baseline gap-1.5 rounded-full border px-2 py-0.5 tabular-nums',
        missing ? 'border-warn-line border-dashed text-warn' : 'bg-card',
      )}
    >
      <code className={cn('font-mono', missing ? 'line-through' : 'text-fg')}>{term}</code>
      {missing ? (
        t('termNowhere')
      ) : (
        <>
          <span>{t('inPassages', { n: texts })}</span>
          <span>idf {points(idf)}</span>
        </>
      )}
    </li>
  )
}
