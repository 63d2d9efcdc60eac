import { Cpu, TriangleAlert } from 'lucide-react'
import type { ModelStatus } from '@/api/types'
import { Button } from '@/components/ui/Button'
import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'
import { stateOf } from './words'

/** The model below the text field: its name, and a word where something about it needs one. */
export function ModelChip({ model, onOpen }: { model: ModelStatus; onOpen: () => void }) {
  const t = useT()
  const { words, tone } = stateOf(model, t)
  const small = model.small && model.state === 'ready'
  const note = small ? t('modelSmallShort') : tone === 'ok' ? null : words
  return (
    <Button size="small" look="ghost" className="min-w-0 max-w-full shrink!" title={words} onClick={onOpen}>
      {tone === 'bad' ? (
        <TriangleAlert size={14} aria-hidden className="shrink-0 text-bad" />
      ) : (
        <Cpu size={14} aria-hidden className="shrink-0" />
      )}
      <span className={cn('truncate', note && 'max-md:hidden')}>{model.label || t('model')}</span>
      {note && (
        <span className={cn('min-w-0 truncate font-normal', tone === 'bad' ? 'text-bad' : 'text-warn')}>
          <span className="max-md:hidden">· </span>
          {note}
        </span>
      )}
    </Button>
  )
}
