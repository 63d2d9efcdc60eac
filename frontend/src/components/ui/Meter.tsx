import { cn } from '@/lib/cn'

interface Props {
  value: number
  max: number
  label: string
  text: string
}

/** Grey below 75 %, amber below 90 %, red above. The text beside it says the same. */
export function Meter({ value, max, label, text }: Props) {
  const share = max > 0 ? Math.min(1, value / max) : 0
  return (
    <div
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={Math.max(max, 1)}
      aria-valuenow={Math.min(value, max)}
      aria-valuetext={text}
      className="h-1.5 overflow-hidden rounded-full bg-hover"
    >
      <div
        className={cn(
          'h-full rounded-full transition-[width] duration-150',
          share < 0.75 ? 'bg-fg-3' : share < 0.9 ? 'bg-warn' : 'bg-bad',
        )}
        style={{ width: `${share * 100}%` }}
      />
    </div>
  )
}
