import { BookOpen } from 'lucide-react'
import type { ReactNode } from 'react'
import { useRetrieved } from '@/api/queries'
import type { Hit, Search } from '@/api/types'
import { onDemand } from '@/components/onDemand'
import { Disclosure } from '@/components/ui/Disclosure'
import { QueryError } from '@/components/ui/QueryError'
import { Pending, Skeleton } from '@/components/ui/Skeleton'
import { type Translate, useT } from '@/lib/i18n'
import { isSearchFolder } from '@/lib/roots'
import { useFold } from '@/stores/folds'

const Found = onDemand(() => import('@/features/retrieval/Found'), Pending)

interface Props {
  id: string
  query: string
  hits: Hit[]
  /** The search that found them. */
  search: Search
}

/** The passages that were added to a question before the answer, or what came near. */
export function RetrievalCard({ id, query, hits, search }: Props) {
  const t = useT()
  const [open, setOpen] = useFold(id, false)
  const n = hits.length
  const near = search.near_misses.length
  if (n === 0 && near === 0) return null
  const withheld = search.withheld ?? 0
  const weak = hits.every(hit => hit.weak) && withheld === 0
  const words =
    n === 0
      ? t('retrievedNone', { n: near })
      : weak
        ? t('retrievedWeak', { n })
        : receivedWords(n - withheld, withheld, t)
  return (
    <Card words={words} open={open} onToggle={setOpen}>
      <Passages id={id} query={query} hits={hits} search={search} />
    </Card>
  )
}

interface KeptProps {
  id: string
  sessionId: string
  workId: string
  /** Number of passages that the model received. */
  hits: number
  /** Number of weak ones that it did not receive. */
  withheld: number
}

/** The same from the server's record, loaded when the card is opened: an old conversation may have many. */
export function RetrievedCard({ id, sessionId, workId, hits, withheld }: KeptProps) {
  const t = useT()
  const [open, setOpen] = useFold(`${id}:kept`, false)
  const kept = useRetrieved(sessionId, workId, open)
  if (hits + withheld === 0) return null
  return (
    <Card words={receivedWords(hits, withheld, t)} open={open} onToggle={setOpen}>
      {kept.data ? (
        <Passages id={id} query={kept.data.query} hits={kept.data.hits} search={kept.data} />
      ) : kept.error ? (
        <QueryError error={kept.error} />
      ) : (
        <Skeleton label={t('loading')} rows={2} />
      )}
    </Card>
  )
}

function Passages({ id, query, hits, search }: Props) {
  return (
    <Found
      id={id}
      query={query}
      folder={isSearchFolder(search.folder) ? search.folder : null}
      hits={hits}
      withheld={(search.withheld ?? 0) > 0}
      weights={search.weights}
      misses={search.near_misses}
      took={search.took_us}
    />
  )
}

function receivedWords(n: number, withheld: number, t: Translate): string {
  if (withheld === 0) return t('retrieved', { n })
  return n === 0 ? t('retrievedWithheld', { n: withheld }) : t('retrievedSome', { n, weak: withheld })
}

interface CardProps {
  /** What the search found, in a few words. */
  words: string
  open: boolean
  onToggle: (open: boolean) => void
  children: ReactNode
}

function Card({ words, open, onToggle, children }: CardProps) {
  return (
    <Disclosure
      open={open}
      onToggle={onToggle}
      className="rounded-lg border border-rag-line bg-rag-soft text-[13px] text-rag"
      summaryClass="rounded-lg px-3 py-2 font-medium"
      summary={
        <>
          <BookOpen size={14} aria-hidden />
          <span className="me-auto">{words}</span>
        </>
      }
    >
      <div className="space-y-1.5 px-3 pb-2.5">{children}</div>
    </Disclosure>
  )
}
