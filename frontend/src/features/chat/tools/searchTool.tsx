import { onDemand } from '@/components/onDemand'
import { Pending } from '@/components/ui/Skeleton'
import { searchDataOf } from '@/features/retrieval/data'
import { useT } from '@/lib/i18n'
import type { SearchFolder } from '@/lib/roots'
import type { Step } from '@/thread/model'
import { Contacts } from '../Contacts'
import { CallInput, CallOutput } from './CallText'
import { defaultTool } from './defaultTool'
import type { ToolRenderer } from './renderer'

const Found = onDemand(() => import('@/features/retrieval/Found'), Pending)

interface Props {
  id: string
  step: Step
  folder: SearchFolder
}

/** The passages that a search found; nothing if an older server returned only text. */
function SearchResult({ id, step, folder }: Props) {
  const t = useT()
  const data = searchDataOf(step)
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

/** The renderer for a tool that searches `folder`: its passages, and links to the places named in its output. */
export const searchTool = (folder: SearchFolder): ToolRenderer => ({
  ...defaultTool,
  Details: ({ id, step }) => (
    <>
      <CallInput step={step} />
      <SearchResult id={id} step={step} folder={folder} />
      <Contacts result={step.result} />
      <CallOutput step={step} format="cited" />
    </>
  ),
})
