import { Search, X } from 'lucide-react'
import { IconButton } from '@/components/ui/Button'
import { Input } from '@/components/ui/Input'
import { useT } from '@/lib/i18n'
import { useComposition } from '@/lib/ime'

interface Props {
  query: string
  /** Whether an input method is composing: a partial word is not searched for. */
  onComposing: (composing: boolean) => void
  onQuery: (query: string) => void
}

export function SearchBox({ query, onComposing, onQuery }: Props) {
  const t = useT()
  const composition = useComposition()
  return (
    <div role="search" aria-label={t('searchSessions')} className="min-w-0 flex-1">
      <Input
        size="medium"
        icon={Search}
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
        end={
          query !== '' && (
            <IconButton label={t('clearSearch')} size="smallIcon" onClick={() => onQuery('')}>
              <X size={13} aria-hidden />
            </IconButton>
          )
        }
      />
    </div>
  )
}
