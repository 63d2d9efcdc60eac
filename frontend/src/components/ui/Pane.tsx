import { type ComponentProps, useRef } from 'react'
import { cn } from '@/lib/cn'
import { useKeptFocus } from './useKeptFocus'

type Props = Omit<ComponentProps<'section'>, 'ref' | 'onFocus' | 'onBlur'> & { as?: 'section' | 'nav' }

/** One of the page's panes. A shortcut cycles through them (`app/paneCommands.ts`). */
export function Pane({ as: Element = 'section', className, ...rest }: Props) {
  const pane = useRef<HTMLElement>(null)
  return (
    <Element
      ref={pane}
      data-pane
      tabIndex={-1}
      className={cn(
        'pane flex h-full min-h-0 min-w-0 flex-col overflow-hidden rounded-xl -outline-offset-2 max-md:rounded-none max-md:border-0',
        className,
      )}
      {...rest}
      {...useKeptFocus(pane)}
    />
  )
}
