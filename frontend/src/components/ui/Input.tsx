import type { LucideIcon } from 'lucide-react'
import type { ComponentProps, ReactNode } from 'react'
import { cn } from '@/lib/cn'

/** A phone zooms into a field whose font is smaller than 16 px. */
const ON_TOUCH = 'max-md:text-[16px] pointer-coarse:text-[16px]'

const SIZE = {
  small: 'h-7 text-small max-md:h-11 pointer-coarse:h-11',
  medium: 'h-8 text-[13px] max-md:h-11 pointer-coarse:h-11',
  large: 'h-9 text-[13px] max-md:h-11 pointer-coarse:h-11',
  /** Of a form that has the page for itself. */
  page: 'h-10 text-[14px] max-md:h-11 pointer-coarse:h-11',
}

type InputProps = Omit<ComponentProps<'input'>, 'size'> & {
  size?: keyof typeof SIZE
  /** Monospace, for machine-readable text: a file name, an address, a key. */
  mono?: boolean
  /** Icon at the start of the field. */
  icon?: LucideIcon
  /** Button at the end of the field. */
  end?: ReactNode
  /** Class of the field together with its icon, for the layout of its parent. */
  className?: string
}

/** A single-line text field. */
export function Input({ size = 'large', mono, icon: Icon, end, className, ...rest }: InputProps) {
  const field = (
    <input
      className={cn(
        'w-full min-w-0 rounded-md border bg-card',
        SIZE[size],
        ON_TOUCH,
        Icon ? 'ps-8' : 'ps-2.5',
        end ? 'pe-8 pointer-coarse:pe-12' : 'pe-2.5',
        mono && 'font-mono',
        !Icon && !end && className,
      )}
      {...rest}
    />
  )
  if (!Icon && !end) return field
  return (
    <span className={cn('relative block', className)}>
      {Icon && (
        <Icon
          size={13}
          aria-hidden
          className="pointer-events-none absolute start-2.5 top-1/2 -translate-y-1/2 text-fg-3"
        />
      )}
      {field}
      {end && <span className="absolute end-1 top-1/2 -translate-y-1/2">{end}</span>}
    </span>
  )
}

type TextAreaProps = ComponentProps<'textarea'> & { mono?: boolean }

/** A multi-line text field. */
export function TextArea({ mono, className, ...rest }: TextAreaProps) {
  return (
    <textarea
      className={cn(
        'scroll block w-full rounded-md border p-2 text-fg',
        mono ? 'bg-code font-mono text-[12px]' : 'bg-card text-[13px]',
        ON_TOUCH,
        className,
      )}
      {...rest}
    />
  )
}
