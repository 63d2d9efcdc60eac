import { Search } from 'lucide-react'
import { type KeyboardEvent, useEffect, useRef } from 'react'
import { Input } from '@/components/ui/Input'
import { useT } from '@/lib/i18n'

interface Props {
  query: string
  onQuery: (query: string) => void
  onSubmit: () => void
  /** An input method is composing: the text is not a question yet. */
  onComposing: (composing: boolean) => void
  /** Arrow down leads to the first result. */
  onDown: () => void
}

export function QueryBox({ query, onQuery, onSubmit, onComposing, onDown }: Props) {
  const t = useT()
  const input = useRef<HTMLInputElement>(null)
  // Without a question, the field gets the focus; on a phone the keyboard would cover the page.
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
      <Input
        icon={Search}
        ref={input}
        type="search"
        aria-label={t('question')}
        placeholder={t('questionHint')}
        value={query}
        onChange={event => onQuery(event.target.value)}
        onKeyDown={onKeyDown}
        onCompositionStart={() => onComposing(true)}
        onCompositionEnd={() => onComposing(false)}
      />
    </form>
  )
}
