import { cn } from '@/lib/cn'

const SIZE = { small: 'size-3', medium: 'size-3.5' }

interface Props {
  size?: keyof typeof SIZE
  /** Its colour; that of the surrounding text if absent. */
  className?: string
}

/** Spins while an operation runs. The text beside it says so, hence it is hidden from screen readers. */
export const Spinner = ({ size = 'medium', className }: Props) => (
  <span
    aria-hidden
    className={cn(
      'spin shrink-0 rounded-full border-2 border-current border-t-transparent',
      SIZE[size],
      className,
    )}
  />
)
