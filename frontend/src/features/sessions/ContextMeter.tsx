import { Wrench } from 'lucide-react'
import type { TokenCount } from '@/api/endpoints'
import { CommandButton, CommandIconButton } from '@/components/CommandButton'
import { Meter } from '@/components/ui/Meter'
import { cn } from '@/lib/cn'
import { compactCount } from '@/lib/format'
import { useT } from '@/lib/i18n'

interface Props {
  /** Null if there is no session yet. */
  count: TokenCount | null
  window: number
}

/** How full the context window is; from 75 % on it says what to do about it. */
export function ContextMeter({ count, window }: Props) {
  const t = useT()
  const used = count?.total_tokens ?? 0
  const size = count?.context_window || window
  const percent = size > 0 ? Math.round((100 * used) / size) : 0
  const text = t('contextMeter', { used, window: size })
  const parts = count && t('contextParts', { system: count.system_tokens, messages: count.message_tokens })
  return (
    <div>
      <div className="flex items-center gap-2">
        <div className="min-w-0 flex-1" title={parts ? `${text}\n${parts}` : text}>
          <div className="mb-1 flex justify-between text-fg-2 text-meta tabular-nums">
            <span>{t('context')}</span>
            <span>
              {compactCount(used)} / {size > 0 ? compactCount(size) : '–'}
            </span>
          </div>
          <Meter value={used} max={size} label={t('context')} text={text} />
        </div>
        <CommandIconButton command="compress" look="soft">
          <Wrench size={15} aria-hidden />
        </CommandIconButton>
      </div>
      {percent >= 75 && (
        <div className={cn('mt-1 text-meta', percent >= 90 ? 'text-bad' : 'text-warn')}>
          <p>{t('contextFull', { n: percent })}</p>
          <CommandButton command="compress" size="small">
            {t('compress')}
          </CommandButton>
        </div>
      )}
    </div>
  )
}
