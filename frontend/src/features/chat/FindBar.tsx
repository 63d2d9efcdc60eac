import { ChevronDown, ChevronUp, X } from 'lucide-react'
import { type KeyboardEvent, useEffect } from 'react'
import { IconButton } from '@/components/ui/Button'
import { Input } from '@/components/ui/Input'
import { markIn, showIn } from '@/lib/highlights'
import { useT } from '@/lib/i18n'
import { useComposition } from '@/lib/ime'
import { wordsOf } from '@/lib/needle'

interface Props {
  query: string
  onQuery: (query: string) => void
  /** Number of matching messages, and the 0-based index of the current one. */
  count: number
  at: number
  onStep: (step: 1 | -1) => void
  onClose: () => void
}

/** Search in the conversation. The browser's own search sees only the rendered rows. */
export default function FindBar({ query, onQuery, count, at, onStep, onClose }: Props) {
  const t = useT()
  const composition = useComposition()
  // The conversation may still be loading when the bar opens.
  const found = count > 0
  useEffect(() => {
    const log = document.querySelector('#pane-chat [role=log]')
    return log && found ? markIn(log, wordsOf(query)) : undefined
  }, [query, found])
  // biome-ignore lint/correctness/useExhaustiveDependencies: `at` is the trigger, not an input
  useEffect(() => {
    const log = document.querySelector('#pane-chat [role=log]')
    return log && count > 0 ? showIn(log, wordsOf(query)) : undefined
  }, [query, at, count])
  const onKeyDown = (event: KeyboardEvent) => {
    if (composition.owns(event)) return
    if (event.key === 'Escape') {
      // Esc closes the bar; it does not stop a run.
      event.stopPropagation()
      onClose()
    } else if (event.key === 'Enter') {
      event.preventDefault()
      onStep(event.shiftKey ? -1 : 1)
    }
  }
  const words =
    query.trim() === '' ? '' : count === 0 ? t('nothingFound') : t('foundOf', { n: at + 1, of: count })
  return (
    <div
      role="search"
      aria-label={t('findInChat')}
      onKeyDown={onKeyDown}
      className="flex items-center gap-1 border-b px-3 py-1.5 text-small"
    >
      <Input
        size="medium"
        // The person has just asked to search.
        autoFocus
        aria-label={t('findInChat')}
        placeholder={t('findInChat')}
        value={query}
        onChange={event => onQuery(event.target.value)}
        {...composition.handlers}
        className="flex-1"
      />
      <span role="status" className="min-w-20 text-end text-fg-2 tabular-nums">
        {words}
      </span>
      <IconButton label={t('findPrevious')} disabled={count === 0} onClick={() => onStep(-1)}>
        <ChevronUp size={15} aria-hidden />
      </IconButton>
      <IconButton label={t('findNext')} disabled={count === 0} onClick={() => onStep(1)}>
        <ChevronDown size={15} aria-hidden />
      </IconButton>
      <IconButton label={t('close')} onClick={onClose}>
        <X size={15} aria-hidden />
      </IconButton>
    </div>
  )
}
