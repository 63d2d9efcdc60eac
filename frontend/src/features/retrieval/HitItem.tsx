import type { Place } from '@/api/retrieval'
import type { Weights } from '@/api/types'
import { MessageLink } from '@/components/MessageLink'
import { onDemand } from '@/components/onDemand'
import { PassageLink } from '@/components/PassageLink'
import { Disclosure } from '@/components/ui/Disclosure'
import { useT } from '@/lib/i18n'
import { messageOf, quotedIn } from '@/lib/messageCitation'
import { useFold } from '@/stores/folds'
import { Marked } from './Marked'
import { fromFirstTerm } from './markTerms'
import { isForeign } from './ranking'
import { placeText, points } from './words'

const Why = onDemand(() => import('./Why'))

export type AnyHit = Place & { text?: string }

interface Props {
  id: string
  hit: AnyHit
  weights: Weights | null
}

/** A hit in a conversation. */
export function HitItem(props: Props) {
  return (
    <li className="rounded-md border border-rag-line bg-card px-2.5 py-1.5 text-fg">
      <HitBody {...props} />
    </li>
  )
}

/** The place of a hit, its text, and on demand why it was found. */
export function HitBody({ id, hit, weights }: Props) {
  const t = useT()
  const [open, setOpen] = useFold(`${id}:why`, false)
  const message = messageOf(hit.source)
  const text = message ? quotedIn(hit.text ?? '') : hit.text
  const link = 'max-w-full text-rag tabular-nums underline underline-offset-2 [overflow-wrap:anywhere]'
  const terms = hit.how?.lexical?.terms.map(({ term }) => term) ?? []
  return (
    <>
      <div className="flex items-baseline gap-x-2 text-[12px]">
        <span className="flex min-w-0 flex-1 flex-wrap gap-x-2">
          {message ? (
            <MessageLink place={message} className={link}>
              {hit.title || hit.heading || t('untitled')}
            </MessageLink>
          ) : (
            <PassageLink
              place={{
                path: hit.source,
                lines: hit.lines ?? null,
                range: hit.range ?? null,
              }}
              className={link}
            >
              {placeText(hit)}
            </PassageLink>
          )}
          {!message && hit.heading && (
            <span className="min-w-0 text-fg-2 [overflow-wrap:anywhere]">{hit.heading}</span>
          )}
        </span>
        <span className="shrink-0 text-fg-3 tabular-nums" title={t('score', { n: hit.score })}>
          {points(hit.score)}
        </span>
      </div>
      {text && (
        <p title={text} className="line-clamp-3 text-fg-2 text-small [overflow-wrap:anywhere]">
          <Marked text={fromFirstTerm(text, terms)} terms={terms} />
        </p>
      )}
      {hit.how && (
        <Disclosure
          open={open}
          onToggle={setOpen}
          summaryClass="w-fit rounded-md py-0.5 text-meta text-rag pointer-coarse:py-2"
          summary={t('why')}
        >
          <div className="pt-1 pb-0.5">
            <Why how={hit.how} score={hit.score} foreign={weights !== null && isForeign(hit.how, weights)} />
          </div>
        </Disclosure>
      )}
    </>
  )
}
