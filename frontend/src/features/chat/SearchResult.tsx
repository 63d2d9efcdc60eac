import { onDemand } from '@/components/onDemand'
import { Pending } from '@/components/ui/Skeleton'
import { searchDataOf, searchedFolder } from '@/features/retrieval/data'
import { useT } from '@/lib/i18n'
import type { Step } from '@/thread/model'

const Found = onDemand(() => import('@/features/retrieval/Found'), Pending)

/** The passages that a search tool found; nothing for other tools and older servers. */
export function SearchResult({ id, step }: { id: string; step: Step }) {
  const t = useT()
  const folder = searchedFolder(step)
  const data = folder && searchDataOf(step)
  if (!data) return null
  return (
    <section
      aria-label={t('passages')}
      className="space-y-1.5 rounded-md border border-rag-line bg-rag-soft p-2 text-rag"
    >
      <Found
        id={id}
        query={data.query}
        folder={folder}
        hits={data.hits}
        weights={data.weights ?? null}
        misses={data.near_misses ?? []}
        took={null}
      />
    </section>
  )
}
