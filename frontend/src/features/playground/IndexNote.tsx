import type { ReactNode } from 'react'
import type { EmbeddingModel, FolderStatus } from '@/api/types'
import { CopyButton } from '@/components/ui/CopyButton'
import { IndexProgress } from '@/features/retrieval/IndexProgress'
import { useT } from '@/lib/i18n'

interface Props {
  status: FolderStatus | null
  model: EmbeddingModel
}

const COMMAND = 'make embedder'

/** What keeps the search from being all it can be just now, and what to do about it. */
export function IndexNote({ status, model }: Props) {
  const t = useT()
  const busy = status?.state === 'building' || status?.state === 'embedding'
  return (
    <>
      {busy && (
        <div className="border-b px-3 py-2 text-fg-2 text-small">
          <IndexProgress status={status} />
        </div>
      )}
      {model.state === 'absent' && (
        <Note>
          {t('embedderAbsent')}{' '}
          <span className="inline-flex items-center rounded-md border bg-code ps-2 text-fg">
            <code className="font-mono text-[12px]">{COMMAND}</code>
            <CopyButton label={t('copyCode')} text={() => COMMAND} />
          </span>
        </Note>
      )}
      {model.state === 'failed' && (
        <Note>
          {t('embedderFailed')} {model.detail}
        </Note>
      )}
    </>
  )
}

const Note = ({ children }: { children: ReactNode }) => (
  <p className="border-warn-line border-b bg-warn-soft px-3 py-1.5 text-small text-warn [overflow-wrap:anywhere]">
    {children}
  </p>
)
