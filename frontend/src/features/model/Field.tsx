import { Input } from '@/components/ui/Input'

interface Props {
  label: string
  value: string
  onChange: (text: string) => void
  type: 'url' | 'password' | 'text'
  /** Id of a list of suggestions. */
  list?: string
}

/** A single-line text field. The browser neither stores nor suggests its text, which may be a key. */
export function Field({ label, value, onChange, type, list }: Props) {
  return (
    <label className="block">
      <span className="mb-1 block text-fg-2">{label}</span>
      <Input
        mono
        type={type}
        value={value}
        list={list}
        autoComplete={type === 'password' ? 'new-password' : 'off'}
        spellCheck={false}
        onChange={event => onChange(event.target.value)}
      />
    </label>
  )
}
