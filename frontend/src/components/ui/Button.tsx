import type { ComponentProps } from 'react'
import { cn } from '@/lib/cn'
import { useFocusWhenDisabled } from './useFocusWhenDisabled'

const LOOK = {
  solid: 'bg-accent text-accent-fg hover:brightness-110',
  soft: 'border bg-card text-fg hover:bg-hover',
  ghost: 'text-fg-2 hover:bg-hover hover:text-fg',
  danger: 'border border-bad-line bg-bad-soft text-bad hover:brightness-95',
}
const SIZE = {
  small: 'h-7 px-2 text-small pointer-coarse:h-9 pointer-coarse:min-w-11 reach',
  medium: 'h-8 px-3 text-[13px] pointer-coarse:h-11 pointer-coarse:min-w-11',
  icon: 'size-8 pointer-coarse:size-11',
  /** As high as a small field beside it. */
  fieldIcon: 'size-7 max-md:size-11 pointer-coarse:size-11',
  smallIcon: 'size-6 pointer-coarse:size-11',
}

type Props = ComponentProps<'button'> & {
  look?: keyof typeof LOOK
  size?: keyof typeof SIZE
  round?: boolean
}

export function Button({ className, look = 'soft', size = 'medium', round, ...rest }: Props) {
  return (
    <button
      type="button"
      className={cn(
        'inline-flex shrink-0 select-none items-center justify-center gap-1.5 whitespace-nowrap font-medium',
        'transition-[background-color,color,filter] duration-150 disabled:pointer-events-none disabled:opacity-50',
        'aria-disabled:pointer-events-none aria-disabled:opacity-50',
        // A pressed toggle must not look like an unpressed one, so it looks like a switch that is on.
        'aria-pressed:border-transparent aria-pressed:bg-accent-soft aria-pressed:text-accent',
        round ? 'rounded-full' : 'rounded-md',
        LOOK[look],
        SIZE[size],
        className,
      )}
      {...rest}
      {...useFocusWhenDisabled(rest)}
    />
  )
}

/** A button with only an icon: the label is its tooltip and its accessible name. */
export function IconButton({
  label,
  look = 'ghost',
  size = 'icon',
  ...rest
}: Omit<Props, 'size'> & { label: string; size?: 'icon' | 'fieldIcon' | 'smallIcon' }) {
  return <Button look={look} size={size} aria-label={label} title={label} {...rest} />
}
