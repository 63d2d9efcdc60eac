import { Search, X } from 'lucide-react'
import { IconButton } from '@/components/ui/Button'
import { useT } from '@/lib/i18n'
import { useComposition } from '@/lib/ime'

interface Props {
  query: string
  /** Half a word of an input method is not searched for. */
  onComposing: (composing: boolean) => void
  onQuery: (query: string) => void
}

export function SearchBox({ query, onComposing, onQuery }: Props) {
  const t = useT()
  const composition = useComposition()
  return (
    <div role="search" aria-label={t('searchSessions')} className="relative mx-3 mt-2">
      <Search size={13} aria-hidden className="absolute start-2.5 top-1/2 -translate-y-1/2 text-fg-3" />
      <input
        type="text"
        aria-label={t('searchSessions')}
        placeholder={t('searchSessions')}
        value={query}
        onChange={event => onQuery(event.target.value)}
        onKeyDown={event => {
          if (event.key !== 'Escape' || composition.owns(event) || query === '') return
          event.stopPropagation()
          onQuery('')
        }}
        onCompositionStart={() => {
          composition.handlers.onCompositionStart()
          onComposing(true)
        }}
        onCompositionEnd={() => {
          composition.handlers.onCompositionEnd()
          onComposing(false)
        }}
        className="h-8 w-full rounded-md border bg-card ps-8 pe-8 text-[13px] max-md:h-11 max-md:text-[16px] pointer-coarse:h-11 pointer-coarse:text-[16px]"
      />
      {query !== '' && (
        <span className="absolute end-1 top-1/2 -translate-y-1/2">
          <IconButton label={t('clearSearch')} size="smallIcon" onClick={() => onQuery('')}>
            <X size={13} aria-hidden />
          </IconButton>
        </span>
      )}
    </div>
  )
}
