import { Wrench } from 'lucide-react'
import type { TokenCount } from '@/api/endpoints'
import { CommandIconButton } from '@/components/CommandButton'
import { Meter } from '@/components/ui/Meter'
import { fullness } from '@/features/context/useRequestSize'
import { cn } from '@/lib/cn'
import { compactCount } from '@/lib/format'
import { type Translate, useT } from '@/lib/i18n'

/** From this percentage on, the button that compacts the conversation stands out. */
const SUGGESTED = 75

/** How full the context window is with the next request, and the texts that say so. */
function useContextUse(size: TokenCount | null) {
  const t = useT()
  const used = size?.total_tokens ?? 0
  const limit = size?.limit_tokens ?? 0
  const leftOut = size?.left_out ?? 0
  const full = size ? fullness(size) : 0
  const percent = Math.round(100 * full)
  const suggested = percent >= SUGGESTED
  const text =
    leftOut > 0
      ? t('leftOutFull', { n: leftOut })
      : suggested
        ? t('contextFull', { n: percent })
        : t('contextMeter', { used, limit: limit || '–' })
  return {
    full,
    text,
    title: size ? [text, ...parts(size, t)].join('\n') : text,
    counts: `${compactCount(used)} / ${limit > 0 ? compactCount(limit) : '–'}`,
    suggested,
    tone: suggested && cn('font-semibold', percent >= 90 ? 'text-bad' : 'text-warn'),
  }
}

interface Props {
  size: TokenCount | null
}

/**
 * How full the context window is with the next request. When it is getting full, the colors say so, and the button that
 * compacts the conversation stands out; the conversation itself proposes it, so nothing here grows and moves the rest.
 */
export function ContextMeter({ size }: Props) {
  const t = useT()
  const { full, text, title, counts, suggested, tone } = useContextUse(size)
  return (
    <div className="flex items-center gap-2">
      <div className="min-w-0 flex-1" title={title}>
        <div className="mb-1 flex justify-between text-fg-2 text-meta tabular-nums">
          <span>{t('context')}</span>
          <span className={cn(tone)}>{counts}</span>
        </div>
        <Meter value={full} max={1} label={t('context')} text={text} />
      </div>
      <CommandIconButton command="compress" look={suggested ? 'solid' : 'soft'}>
        <Wrench size={15} aria-hidden />
      </CommandIconButton>
    </div>
  )
}

/** The same on a line with other things. */
export function ContextMeterLine({ size }: Props) {
  const t = useT()
  const { full, text, title, counts, tone } = useContextUse(size)
  return (
    <div className="flex min-w-0 flex-1 items-center gap-2" title={title}>
      <div className="min-w-6 flex-1">
        <Meter value={full} max={1} label={t('context')} text={text} />
      </div>
      <span aria-hidden className={cn('@max-[260px]:hidden text-meta tabular-nums', tone)}>
        {counts}
      </span>
    </div>
  )
}

/** What the request consists of. */
function parts(size: TokenCount, t: Translate): string[] {
  const { system_tokens: system, tools_tokens: tools, message_tokens: messages } = size
  const { attachment_tokens: attached, retrieved_tokens: retrieved } = size
  const { context_window: window, limit_tokens: limit } = size
  return [
    t('contextParts', { system, tools, messages }),
    ...(attached > 0 ? [t('contextAttachments', { n: attached })] : []),
    ...(retrieved > 0 ? [t('contextRetrieved', { n: retrieved })] : []),
    ...(limit > 0 ? [t('contextReserved', { n: window - limit, window })] : []),
  ]
}
