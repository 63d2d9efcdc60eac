import { cn } from '@/lib/cn'

interface Props {
  /** Each part's share of the whole width, 0 to 1. */
  parts: readonly { share: number; className: string }[]
  className?: string
}

/** A bar beside a number with the same value, hence hidden from screen readers. */
export function Bar({ parts, className }: Props) {
  return (
    <span aria-hidden className={cn('flex h-1.5 overflow-hidden rounded-full bg-hover', className)}>
      {parts.map((part, i) => (
        <span
          key={i}
          className={cn('h-full transition-[width] duration-150 ease-out', part.className)}
          style={{ width: `${Math.max(0, Math.min(1, part.share)) * 100}%` }}
        />
      ))}
    </span>
  )
}
