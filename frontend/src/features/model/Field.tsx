interface Props {
  label: string
  value: string
  onChange: (text: string) => void
  type: 'url' | 'password' | 'text'
  /** Id of a list of proposals. */
  list?: string
}

/** One line of text. No browser keeps or proposes what is typed here: it may be a key. */
export function Field({ label, value, onChange, type, list }: Props) {
  return (
    <label className="block">
      <span className="mb-1 block text-fg-2">{label}</span>
      <input
        type={type}
        value={value}
        list={list}
        autoComplete={type === 'password' ? 'new-password' : 'off'}
        spellCheck={false}
        onChange={event => onChange(event.target.value)}
        className="h-9 w-full rounded-md border bg-pane px-2.5 font-mono text-[13px] max-md:text-[16px]"
      />
    </label>
  )
}
