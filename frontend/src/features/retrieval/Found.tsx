import { SlidersHorizontal } from 'lucide-react'
import { Link } from 'wouter'
import type { Took, Weights } from '@/api/types'
import { Disclosure } from '@/components/ui/Disclosure'
import { fixed } from '@/lib/format'
import { type Translate, useT } from '@/lib/i18n'
import { messageOf } from '@/lib/messageCitation'
import type { SearchFolder } from '@/lib/roots'
import '@/lib/later'
import { useFold } from '@/stores/folds'
import { playgroundHref } from './address'
import { type AnyHit, HitItem } from './HitItem'
import { type Miss, NearMisses } from './NearMisses'
import { isWeak } from './weak'
import { weightWords } from './words'

interface Props {
  id: string
  query: string
  /** Null for a folder that this page does not know. */
  folder: SearchFolder | null
  hits: AnyHit[]
  weights: Weights | null
  misses: Miss[]
  took: Took | null
}

/** The hits and near misses of a search in a conversation, with a link to the playground. */
export default function Found({ id, query, folder, hits, weights, misses, took }: Props) {
  const t = useT()
  const good = hits.filter(({ how }) => !isWeak(how))
  const weak = hits.filter(({ how }) => isWeak(how))
  // The playground searches files only.
  const recalled = hits.length > 0 && hits.every(({ source }) => messageOf(source) !== null)
  return (
    <>
      <Hits id={id} hits={good} weights={weights} />
      <WeakHits id={`${id}:weak`} hits={weak} weights={weights} alone={good.length === 0} />
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

/** Passages that were handed on, but hardly answer the question. Folded unless there is nothing better. */
function WeakHits({ alone, ...props }: HitsProps & { alone: boolean }) {
  const t = useT()
  const [open, setOpen] = useFold(props.id, alone)
  const n = props.hits.length
  if (n === 0) return null
  return (
    <Disclosure
      open={open}
      onToggle={setOpen}
      summaryClass="w-fit rounded-md px-1 py-0.5 text-small pointer-coarse:py-2"
      summary={<span title={t('weakHint')}>{t('weakMatches', { n })}</span>}
    >
      <Hits {...props} />
    </Disclosure>
  )
}

function footnote(weights: Weights | null, took: Took | null, t: Translate): string {
  const total = took && Object.values(took).reduce((sum: number, us) => sum + us, 0)
  const time = total === null ? null : t('foundIn', { n: fixed(total / 1000, 1) })
  return [time, weights && weightWords(weights.reason, t)].filter(Boolean).join(' · ')
}
