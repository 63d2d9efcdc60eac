import type { EmbeddingModel, FolderStatus } from '@/api/types'
import { Banner } from '@/components/ui/Banner'
import { EmbedderNote, isWithoutMeaning } from '@/features/retrieval/EmbedderNote'
import { IndexProgress } from '@/features/retrieval/IndexProgress'

interface Props {
  status: FolderStatus | null
  model: EmbeddingModel
}

/** What limits the search at the moment, and how to fix it. */
export function IndexNote({ status, model }: Props) {
  const busy = status?.state === 'building' || status?.state === 'embedding'
  return (
    <>
      {busy && (
        <div className="border-b px-3 py-2 text-fg-2 text-small">
          <IndexProgress status={status} />
        </div>
      )}
      {isWithoutMeaning(model) && (
        <Banner tone="warn">
          <EmbedderNote model={model} />
        </Banner>
      )}
    </>
  )
}
