import type { CompressionPlan } from '@/api/types'
import { Button } from '@/components/ui/Button'
import { ErrorText } from '@/components/ui/ErrorText'
import { StatusLine } from '@/features/chat/StatusLine'
import { CompactedMessages } from '@/features/recovery/CompactedMessages'
import { compactNumber } from '@/lib/format'
import { useT } from '@/lib/i18n'

interface Props {
  plan: CompressionPlan
  /** Whether the conversation has pinned messages. */
  pinned: boolean
  /** Why the model made no summary. */
  problem: string | null
  asking: boolean
  onAsk: () => void
  onCallOff: () => void
  onWrite: () => void
  onClose: () => void
}

/** The messages that a summary would replace. */
export function Planned({ plan, pinned, problem, asking, onAsk, onCallOff, onWrite, onClose }: Props) {
  const t = useT()
  const { messages, remaining_count, tokens_before, tokens_without } = plan
  return (
    <>
      <p className="text-[13px] text-fg-2">
        {t('compressPlan', { n: messages.length, kept: remaining_count })}{' '}
        {t('compressTokens', { before: compactNumber(tokens_before), after: compactNumber(tokens_without) })}
        {pinned && ` ${t('pinnedStay')}`}
      </p>
      <section
        tabIndex={0}
        aria-label={t('originals')}
        className="scroll mt-3 max-h-[46dvh] rounded-lg border bg-pane-2 p-2"
      >
        <CompactedMessages messages={messages} />
      </section>
      {problem !== null && (
        <ErrorText className="mt-3">{t('compressNoSummary', { reason: problem })}</ErrorText>
      )}
      <div className="mt-4 flex min-h-8 flex-wrap items-center justify-end gap-2">
        {asking ? (
          <>
            <div className="me-auto" role="status">
              <StatusLine
                activity={{ kind: 'summary', message: t('compressing'), progress: null, writing: null }}
                since={null}
              />
            </div>
            <Button onClick={onCallOff}>{t('cancel')}</Button>
          </>
        ) : (
          <>
            <Button look="ghost" className="me-auto" onClick={onWrite}>
              {t('compressWrite')}
            </Button>
            <Button onClick={onClose}>{t('cancel')}</Button>
            <Button look="solid" onClick={onAsk}>
              {t('compressAsk')}
            </Button>
          </>
        )}
      </div>
    </>
  )
}
