import { cn } from '@/lib/cn'

interface Props {
  id?: string
  'aria-labelledby': string
  'aria-describedby'?: string
  'aria-invalid'?: boolean
  value: string
  options: readonly { value: string; words: string }[]
  disabled?: boolean
  className?: string
  onChange: (value: string) => void
}

/** A choice of one of several: the list of the system, which every device shows well. */
export function Select({ value, options, className, onChange, ...rest }: Props) {
  return (
    <select
      className={cn(
        'h-7 max-w-full rounded-md border bg-card px-1.5 text-fg text-small disabled:opacity-60 max-md:h-11 max-md:text-[16px] pointer-coarse:h-11 pointer-coarse:text-[16px]',
        className,
      )}
      value={value}
      onChange={event => onChange(event.target.value)}
      {...rest}
    >
      {options.map(option => (
        <option key={option.value} value={option.value} className="bg-[var(--pane-solid)] text-fg">
          {option.words}
        </option>
      ))}
    </select>
  )
}
