import type { EmbeddingModel } from '@/api/types'
import { CopyButton } from '@/components/ui/CopyButton'
import { useT } from '@/lib/i18n'

const COMMAND = 'make embedder'

export const isWithoutMeaning = ({ state }: EmbeddingModel): boolean =>
  state === 'absent' || state === 'failed'

/** Why a search is by words only, and how to fix it; nothing if the model is loaded or not needed yet. */
export function EmbedderNote({ model }: { model: EmbeddingModel }) {
  const t = useT()
  if (model.state === 'absent') {
    return (
      <>
        {t('embedderAbsent')}{' '}
        <span className="inline-flex items-center rounded-md border bg-code ps-2 text-fg">
          <code className="font-mono text-[12px]">{COMMAND}</code>
          <CopyButton label={t('copyCode')} text={() => COMMAND} />
        </span>
      </>
    )
  }
  return model.state === 'failed' ? `${t('embedderFailed')} ${model.detail ?? ''}` : null
}
