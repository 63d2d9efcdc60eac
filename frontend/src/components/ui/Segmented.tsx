import { cn } from '@/lib/cn'

interface Props<T extends string> {
  label: string
  value: T
  options: readonly { value: T; words: string }[]
  onChange: (value: T) => void
}

/** A choice among a few options that are all visible. */
export function Segmented<T extends string>({ label, value, options, onChange }: Props<T>) {
  return (
    <div role="group" aria-label={label} className="flex rounded-lg bg-hover p-0.5">
      {options.map(option => (
        <button
          key={option.value}
          type="button"
          aria-pressed={option.value === value}
          onClick={() => onChange(option.value)}
          className={cn(
            'h-7 rounded-md px-2.5 text-small pointer-coarse:h-11 pointer-coarse:min-w-11',
            option.value === value
              ? 'bg-card font-medium text-fg shadow-sm dark:bg-white/15'
              : 'text-fg-2 hover:text-fg',
          )}
        >
          {option.words}
        </button>
      ))}
    </div>
  )
}
