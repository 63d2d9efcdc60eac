import { cn } from '@/lib/cn'

const SIZE = { small: 'size-3', medium: 'size-3.5' }

interface Props {
  size?: keyof typeof SIZE
  /** Its colour: that of the text around it, if absent. */
  className?: string
}

/** Turns while something is at work. The words beside it say so: a screen reader is not told of it. */
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
