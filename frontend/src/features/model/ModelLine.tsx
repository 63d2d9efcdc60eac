import type { ModelStatus } from '@/api/types'
import { useRun } from '@/app/useCommand'
import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'
import { stateOf } from './words'

const DOT = { ok: 'bg-ok', idle: 'bg-fg-3', busy: 'bg-accent animate-pulse', warn: 'bg-warn', bad: 'bg-bad' }

interface Props {
  /** Undefined until the server has reported it; the space of its two lines is reserved. */
  model: ModelStatus | undefined
}

/** The model and its state; a click opens the dialog that connects another. */
export function ModelLine({ model }: Props) {
  const t = useT()
  const run = useRun()
  if (!model) return <div aria-hidden className="box-content h-[2lh] py-0.5 text-meta pointer-coarse:py-2" />
  const { words, tone } = stateOf(model, t)
  return (
    <button
      type="button"
      onClick={() => run('model')}
      title={words}
      className="flex w-full min-w-0 items-start gap-2 rounded-md px-1 py-0.5 text-start text-meta hover:bg-hover pointer-coarse:py-2"
    >
      <span aria-hidden className={cn('mt-[5px] size-2 shrink-0 rounded-full', DOT[tone])} />
      <span className="min-w-0">
        <span className="block truncate text-fg-2">{model.label || t('model')}</span>
        <span
          className={cn('block', tone === 'bad' ? 'text-bad' : tone === 'warn' ? 'text-warn' : 'text-fg-3')}
        >
          {words}
        </span>
      </span>
    </button>
  )
}
