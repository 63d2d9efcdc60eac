import { BookOpen } from 'lucide-react'
import { folderNamed } from '@/api/retrieval'
import type { Hit, Search } from '@/api/types'
import { Disclosure } from '@/components/ui/Disclosure'
import { Found } from '@/features/retrieval/Found'
import { useT } from '@/lib/i18n'
import { useFold } from '@/stores/folds'

interface Props {
  id: string
  query: string
  hits: Hit[]
  /** How it was searched. */
  search: Search
}

/** The passages that were put before an answer. */
export function RetrievalCard({ id, query, hits, search }: Props) {
  const t = useT()
  const [open, setOpen] = useFold(id, true)
  const title =
    hits.length === 0
      ? t('retrievedNone')
      : hits.length === 1
        ? t('retrievedOne')
        : t('retrieved', { n: hits.length })
  return (
    <Disclosure
      open={open}
      onToggle={setOpen}
      className="rounded-lg border border-rag-line bg-rag-soft text-[13px] text-rag"
      summaryClass="rounded-lg px-3 py-2 font-medium"
      summary={
        <>
          <BookOpen size={14} aria-hidden />
          <span className="me-auto">{title}</span>
        </>
      }
    >
      <div className="space-y-1.5 px-3 pb-2.5">
        <Found
          id={id}
          query={query}
          folder={folderNamed(search.folder)}
          hits={hits}
          weights={search.weights}
          misses={search.near_misses}
          took={search.took_us}
        />
      </div>
    </Disclosure>
  )
}
