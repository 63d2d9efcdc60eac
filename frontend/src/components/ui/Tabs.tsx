import { Tabs as Radix } from 'radix-ui'
import type { ReactNode } from 'react'
import { cn } from '@/lib/cn'

export interface Tab<T extends string> {
  value: T
  words: string
}

interface Props<T extends string> {
  value: T
  onChange: (value: T) => void
  className?: string
  children: ReactNode
}

/** Several views, one of which is shown: a `TabList`, and a `TabPanel` for each. */
export function Tabs<T extends string>({ value, onChange, className, children }: Props<T>) {
  return (
    <Radix.Root value={value} onValueChange={value => onChange(value as T)} className={className}>
      {children}
    </Radix.Root>
  )
}

interface ListProps<T extends string> {
  label: string
  tabs: readonly Tab<T>[]
  /** The tabs fill the whole width. */
  stretch?: boolean
  className?: string
}

export function TabList<T extends string>({ label, tabs, stretch, className }: ListProps<T>) {
  return (
    <Radix.List aria-label={label} className={cn('flex rounded-lg bg-hover p-0.5', className)}>
      {tabs.map(({ value, words }) => (
        <Radix.Trigger
          key={value}
          value={value}
          className={cn(
            'h-7 rounded-md text-fg-2 text-small hover:text-fg data-[state=active]:bg-card data-[state=active]:font-medium data-[state=active]:text-fg data-[state=active]:shadow-sm dark:data-[state=active]:bg-white/15 max-md:h-11 pointer-coarse:h-11',
            stretch
              ? 'min-w-0 pointer-coarse:min-w-11 flex-auto truncate px-1 max-[359px]:px-0 max-[359px]:text-meta'
              : 'px-2.5',
          )}
        >
          {words}
        </Radix.Trigger>
      ))}
    </Radix.List>
  )
}

interface PanelProps {
  of: string
  className?: string
  children: ReactNode
}

export function TabPanel({ of, className, children }: PanelProps) {
  return (
    <Radix.Content
      value={of}
      className={cn('flex min-h-0 flex-col outline-offset-[-2px] data-[state=inactive]:hidden', className)}
    >
      {children}
    </Radix.Content>
  )
}
