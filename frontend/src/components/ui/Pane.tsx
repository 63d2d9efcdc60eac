import type { ComponentProps } from 'react'
import { cn } from '@/lib/cn'

type Props = ComponentProps<'section'> & { as?: 'section' | 'nav' }

/** One of the page's panes. A shortcut cycles through them (`app/paneCommands.ts`). */
export const Pane = ({ as: Element = 'section', className, ...rest }: Props) => (
  <Element
    data-pane
    tabIndex={-1}
    className={cn(
      'pane flex h-full min-h-0 min-w-0 flex-col overflow-hidden rounded-xl outline-none max-md:rounded-none max-md:border-0',
      className,
    )}
    {...rest}
  />
)
