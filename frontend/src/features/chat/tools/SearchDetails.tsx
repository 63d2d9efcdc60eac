import { onDemand } from '@/components/onDemand'
import { Pending } from '@/components/ui/Skeleton'
import { searchDataOf } from '@/features/retrieval/data'
import { useT } from '@/lib/i18n'
import type { SearchFolder } from '@/lib/roots'
import type { Step } from '@/thread/model'
import { Contacts } from '../Contacts'
import { CallInput, CallOutput } from './CallText'
import type { ToolDetailsProps } from './renderer'

const Found = onDemand(() => import('@/features/retrieval/Found'), Pending)

type Props = ToolDetailsProps & { folder: SearchFolder }

/** Whether only past conversations were searched, which the playground does not search. */
const isOfConversations = ({ arguments: given }: Step): boolean =>
  typeof given === 'object' && given !== null && 'in' in given && given.in === 'conversations'

/** The passages that a search found; nothing if an older server returned only text. */
function SearchResult({ id, step, folder }: Props) {
  const t = useT()
  const data = searchDataOf(step)
  if (!data) return null
  const withheld = data.withheld ?? []
  return (
    <section
      aria-label={t('passages')}
      className="space-y-1.5 rounded-md border border-rag-line bg-rag-soft p-2 text-rag"
    >
      <Found
        id={id}
        query={data.query}
        folder={isOfConversations(step) ? null : folder}
        hits={[...data.hits, ...withheld]}
        withheld={withheld.length > 0}
        weights={data.weights ?? null}
        misses={data.near_misses ?? []}
        took={null}
      />
    </section>
  )
}

export default function SearchDetails(props: Props) {
  const { step } = props
  return (
    <>
      <CallInput step={step} />
      <SearchResult {...props} />
      <Contacts result={step.result} />
      <CallOutput step={step} format="cited" />
    </>
  )
}
