import { SlidersHorizontal } from 'lucide-react'
import { Link } from 'wouter'
import type { Took, Weights } from '@/api/types'
import { fixed } from '@/lib/format'
import { type Translate, useT } from '@/lib/i18n'
import { messageOf } from '@/lib/messageCitation'
import type { SearchFolder } from '@/lib/roots'
import '@/lib/later'
import { playgroundHref } from './address'
import { type AnyHit, HitItem } from './HitItem'
import { type Miss, NearMisses } from './NearMisses'
import { WeakHits } from './WeakHits'
import { weightWords } from './words'

interface Props {
  id: string
  query: string
  /** Null for a folder that this page does not know. */
  folder: SearchFolder | null
  hits: AnyHit[]
  /** The model did not receive the weak ones. */
  withheld: boolean
  weights: Weights | null
  misses: Miss[]
  took: Took | null
}

/** The hits and near misses of a search in a conversation, with a link to the playground. */
export default function Found({ id, query, folder, hits, withheld, weights, misses, took }: Props) {
  const t = useT()
  const weak = hits.filter(hit => hit.weak)
  // The playground searches files only.
  const recalled = hits.length > 0 && hits.every(({ source }) => messageOf(source) !== null)
  return (
    <>
      <Hits id={id} hits={hits.filter(hit => !hit.weak)} weights={weights} />
      <WeakHits id={`${id}:weak`} hits={weak} weights={weights} withheld={withheld} />
      <NearMisses id={id} misses={misses} alone={hits.length === 0} />
      <p className="flex flex-wrap items-center gap-x-2 px-1 text-fg-3 text-meta">
        <span className="min-w-0 flex-1">{footnote(weights, took, t)}</span>
        {folder && !recalled && (
          <Link
            href={playgroundHref({ query, folder })}
            className="flex items-center gap-1 text-rag underline-offset-2 hover:underline pointer-coarse:py-2"
          >
            <SlidersHorizontal size={12} aria-hidden />
            {t('openPlayground')}
          </Link>
        )}
      </p>
    </>
  )
}

type HitsProps = Pick<Props, 'id' | 'hits' | 'weights'>

function Hits({ id, hits, weights }: HitsProps) {
  if (hits.length === 0) return null
  return (
    <ul className="space-y-1.5">
      {hits.map((hit, i) => (
        <HitItem key={i} id={`${id}:${i}`} hit={hit} weights={weights} />
      ))}
    </ul>
  )
}

function footnote(weights: Weights | null, took: Took | null, t: Translate): string {
  const total = took && Object.values(took).reduce((sum: number, us) => sum + us, 0)
  const time = total === null ? null : t('foundIn', { n: fixed(total / 1000, 1) })
  return [time, weights && weightWords(weights.reason, t)].filter(Boolean).join(' · ')
}
