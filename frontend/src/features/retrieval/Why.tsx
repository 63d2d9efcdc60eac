import type { ReactNode } from 'react'
import type { How, LexicalScore } from '@/api/types'
import { Bar } from '@/components/ui/Bar'
import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'
import { sumOf } from './ranking'
import { points } from './words'

interface Props {
  how: How
  score: number
  /** The passage is in another script than the question. */
  foreign: boolean
}

/** Why a passage has its rank: the share of each retriever, and how they add up. */
export default function Why({ how, score, foreign }: Props) {
  const t = useT()
  const { lexical, vector, late } = how
  return (
    <dl className="grid grid-cols-[auto_1fr] gap-x-3 gap-y-1.5 text-fg-2 text-small">
      <Side name={t('legWords')} tone="text-accent">
        {lexical ? (
          <>
            <Figures
              rank={lexical.rank}
              raw={t('bm25', { n: points(lexical.score) })}
              share={lexical.share}
              tone="bg-accent"
            />
            <Terms leg={lexical} />
          </>
        ) : (
          t('noWordShared')
        )}
      </Side>
      <Side name={t('legMeaning')} tone="text-rag">
        {vector ? (
          <Figures
            rank={vector.rank}
            raw={t('cosine', { n: points(vector.cosine) })}
            share={vector.share}
            tone="bg-rag"
          />
        ) : (
          t(how.vector_weight ? 'noVectorYet' : 'legOff')
        )}
      </Side>
      {late && (
        <Side name={t('legPieces')} tone="text-fg">
          <span className="flex flex-wrap items-center gap-x-2 tabular-nums">
            <span className="text-fg-3">{t('piecesScore', { n: points(late.score) })}</span>
            <span className="ms-auto flex items-center gap-1.5" title={t('shareHint')}>
              <Bar className="w-14" parts={[{ share: late.share, className: 'bg-fg-3' }]} />
              {points(late.share)}
            </span>
          </span>
        </Side>
      )}
      <Side name={t('together')} tone="text-fg">
        <Sum how={how} score={score} />
        {foreign && <span className="block text-fg-3 text-meta">{t('otherScript')}</span>}
        {!!how.duplicates && (
          <span className="block text-fg-3 text-meta">{t('duplicates', { n: how.duplicates })}</span>
        )}
      </Side>
    </dl>
  )
}

function Side({ name, tone, children }: { name: string; tone: string; children: ReactNode }) {
  return (
    <>
      <dt className={cn('font-medium', tone)}>{name}</dt>
      <dd className="min-w-0">{children}</dd>
    </>
  )
}

/** The rank, the raw score, and the score scaled between the best (1.00) and the worst (0.00) candidate. */
function Figures({ rank, raw, share, tone }: { rank: number; raw: string; share: number; tone: string }) {
  const t = useT()
  return (
    <span className="flex flex-wrap items-center gap-x-2 tabular-nums">
      <span>{t('legPlace', { n: rank })}</span>
      <span className="text-fg-3">{raw}</span>
      <span className="ms-auto flex items-center gap-1.5" title={t('shareHint')}>
        <Bar className="w-14" parts={[{ share, className: tone }]} />
        {points(share)}
      </span>
    </span>
  )
}

function Terms({ leg }: { leg: LexicalScore }) {
  const t = useT()
  const terms = leg.terms.toSorted((a, b) => b.score - a.score)
  const most = Math.max(terms[0]?.score ?? 0, Number.EPSILON)
  return (
    <ul aria-label={t('termScores')} className="mt-0.5 space-y-0.5">
      {terms.map(term => (
        <li key={term.term} className="flex flex-wrap items-center gap-x-2 text-meta tabular-nums">
          <code className="w-24 shrink-0 truncate font-mono text-fg" title={term.term}>
            {term.term}
          </code>
          <Bar className="w-16" parts={[{ share: term.score / most, className: 'bg-accent' }]} />
          <span className="w-8 text-end">{points(term.score)}</span>
          <span className="text-fg-3">{t('termTimes', { times: term.times, texts: term.texts })}</span>
        </li>
      ))}
    </ul>
  )
}

/** The meaning first, as in the formula; without a vector the words count for both. */
function Sum({ how, score }: { how: How; score: number }) {
  const { vector, late, lexical } = sumOf(how)
  return (
    <span className="font-mono text-[12px] tabular-nums">
      {vector && (
        <>
          <span className="text-rag">
            {points(vector[0])} × {points(vector[1])}
          </span>
          {' + '}
        </>
      )}
      {late && (
        <>
          <span>
            {points(late[0])} × {points(late[1])}
          </span>
          {' + '}
        </>
      )}
      <span className="text-accent">
        {points(lexical[0])} × {points(lexical[1])}
      </span>
      {' = '}
      <strong className="font-semibold text-fg">{points(score)}</strong>
    </span>
  )
}
