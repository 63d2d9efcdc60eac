import { Search } from 'lucide-react'
import { type KeyboardEvent, useEffect, useRef } from 'react'
import { useT } from '@/lib/i18n'

interface Props {
  query: string
  onQuery: (query: string) => void
  onSubmit: () => void
  /** An input method is at work: what stands there is not a question yet. */
  onComposing: (composing: boolean) => void
  /** The arrow leads to the first result. */
  onDown: () => void
}

export function QueryBox({ query, onQuery, onSubmit, onComposing, onDown }: Props) {
  const t = useT()
  const input = useRef<HTMLInputElement>(null)
  // Who comes without a question comes to ask one; on a phone the keyboard would cover the page.
  // biome-ignore lint/correctness/useExhaustiveDependencies: on arrival only
  useEffect(() => {
    if (query === '' && !matchMedia('(pointer: coarse)').matches) input.current?.focus()
  }, [])
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'ArrowDown' || event.nativeEvent.isComposing) return
    event.preventDefault()
    onDown()
  }
  return (
    <form
      role="search"
      onSubmit={event => {
        event.preventDefault()
        onSubmit()
      }}
    >
      <label className="relative block">
        <Search size={15} aria-hidden className="absolute start-3 top-1/2 -translate-y-1/2 text-fg-3" />
        <input
          ref={input}
          type="search"
          aria-label={t('question')}
          placeholder={t('questionHint')}
          value={query}
          onChange={event => onQuery(event.target.value)}
          onKeyDown={onKeyDown}
          onCompositionStart={() => onComposing(true)}
          onCompositionEnd={() => onComposing(false)}
          className="h-9 w-full rounded-md border bg-card ps-9 pe-2 text-[13.5px] max-md:h-11 max-md:text-[16px]"
        />
      </label>
    </form>
  )
}
