import type { Weights } from '@/api/types'
import { Disclosure } from '@/components/ui/Disclosure'
import { useT } from '@/lib/i18n'
import { messageOf } from '@/lib/messageCitation'
import '@/lib/later'
import { useFold } from '@/stores/folds'
import { type AnyHit, HitBody } from './HitItem'
import { WeakBadge } from './WeakBadge'
import { placeText } from './words'

interface Props {
  id: string
  hits: AnyHit[]
  weights: Weights | null
  /** The model did not receive them. */
  withheld: boolean
}

/** Passages that probably do not answer the question: each is one line until it is opened. */
export function WeakHits({ id, hits, weights, withheld }: Props) {
  const t = useT()
  if (hits.length === 0) return null
  return (
    <section className="space-y-1.5">
      <p className="px-1 text-fg-2 text-small">
        {t(withheld ? 'weakWithheld' : 'weakFound', { n: hits.length })}
      </p>
      <ul className="space-y-1.5">
        {hits.map((hit, i) => (
          <WeakHit key={i} id={`${id}:${i}`} hit={hit} weights={weights} />
        ))}
      </ul>
    </section>
  )
}

function WeakHit({ id, hit, weights }: Omit<Props, 'hits' | 'withheld'> & { hit: AnyHit }) {
  const t = useT()
  const [open, setOpen] = useFold(`${id}:weak`, false)
  const ofConversation = messageOf(hit.source) !== null
  const title = ofConversation ? hit.title || hit.heading || t('untitled') : placeText(hit)
  return (
    <li className="rounded-md border border-rag-line border-dashed bg-card text-fg">
      <Disclosure
        open={open}
        onToggle={setOpen}
        summaryClass="rounded-md px-2.5 py-1.5 text-[12px]"
        summary={
          <span className="flex min-w-0 flex-1 items-baseline gap-x-2">
            <span className="min-w-0 truncate tabular-nums">
              {title}
              {!ofConversation && hit.heading && <span className="text-fg-2"> {hit.heading}</span>}
            </span>
            <WeakBadge />
          </span>
        }
      >
        <div className="px-2.5 pt-1 pb-1.5">
          <HitBody id={id} hit={hit} weights={weights} />
        </div>
      </Disclosure>
    </li>
  )
}
