import type { ComponentProps } from 'react'
import { cn } from '@/lib/cn'

/** Why an action failed, shown beside that action. */
export const ErrorText = ({ className, ...rest }: ComponentProps<'p'>) => (
  <p
    role="alert"
    className={cn('min-w-0 text-bad text-small [overflow-wrap:anywhere]', className)}
    {...rest}
  />
)
