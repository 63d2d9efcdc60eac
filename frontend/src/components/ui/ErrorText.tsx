import type { ComponentProps } from 'react'
import { cn } from '@/lib/cn'

/** Why something did not work, beside what a person did. */
export const ErrorText = ({ className, ...rest }: ComponentProps<'p'>) => (
  <p
    role="alert"
    className={cn('min-w-0 text-bad text-small [overflow-wrap:anywhere]', className)}
    {...rest}
  />
)
