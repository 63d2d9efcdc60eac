import { useTokens } from '@/api/queries'
import { Segmented } from '@/components/ui/Segmented'
import { type AutoCompact, chooseAutoCompact } from '@/features/context/autoCompact'
import { useT } from '@/lib/i18n'

/** What happens when this conversation nearly fills the context window. */
export function AutoCompactChoice({ sessionId }: { sessionId: string }) {
  const t = useT()
  const mode = useTokens(sessionId, { message: '', attachment_tokens: 0 }).data?.auto_compact
  if (!mode) return null
  return (
    <div className="mt-3 flex flex-wrap items-center gap-x-3 gap-y-1.5 text-[13px]">
      <span className="text-fg-2">{t('autoCompact')}</span>
      <Segmented<AutoCompact>
        label={t('autoCompact')}
        value={mode}
        options={[
          { value: 'ask', words: t('autoCompactAsk') },
          { value: 'on', words: t('autoCompactOn') },
          { value: 'off', words: t('autoCompactOff') },
        ]}
        onChange={chosen => void chooseAutoCompact(sessionId, chosen)}
      />
    </div>
  )
}
