import { Search, TextSearch } from 'lucide-react'
import { useRef } from 'react'
import { IconButton } from '@/components/ui/Button'
import { Input } from '@/components/ui/Input'
import { useT } from '@/lib/i18n'

interface Props {
  text: string
  /** The field searches the text of the files, not their names. */
  inText: boolean
  onChange: (text: string, inText: boolean) => void
  /** What the field says while it searches names, if not that it filters them. */
  nameLabel?: string
  /** What a field has that chooses from a list while it searches names. */
  field?: Record<string, unknown>
}

/** Searches the names of the files of a tab, or their text. */
export function SearchField({ text, inText, onChange, nameLabel, field: own }: Props) {
  const t = useT()
  const label = inText ? t('findInFiles') : (nameLabel ?? t('filter'))
  const field = useRef<HTMLInputElement>(null)
  return (
    <>
      <Input
        type="search"
        size="small"
        icon={inText ? TextSearch : Search}
        ref={field}
        aria-label={label}
        placeholder={label}
        {...(inText ? {} : own)}
        value={text}
        onChange={event => onChange(event.target.value, inText)}
        className="min-w-0 flex-1"
      />
      <IconButton
        label={t('findInFiles')}
        size="fieldIcon"
        aria-pressed={inText}
        onClick={() => {
          // What was searched for in texts is rarely a name.
          onChange(inText ? '' : text, !inText)
          field.current?.focus()
        }}
      >
        <TextSearch size={15} aria-hidden />
      </IconButton>
    </>
  )
}
