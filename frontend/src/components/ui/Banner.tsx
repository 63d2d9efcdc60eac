import type { LucideIcon } from 'lucide-react'
import type { ReactNode } from 'react'
import { cn } from '@/lib/cn'

const TONE = {
  news: 'bg-accent-soft text-accent',
  warn: 'border-warn-line bg-warn-soft text-warn',
  bad: 'border-bad-line bg-bad-soft text-bad',
}

interface Props {
  tone: keyof typeof TONE
  icon?: LucideIcon
  /** How a screen reader announces it; absent if something else announces it. */
  role?: 'alert' | 'status'
  /** Draws a box, for a banner that is not at the edge of a pane. */
  boxed?: boolean
  /** Buttons that resolve the problem. */
  actions?: ReactNode
  children: ReactNode
}

/** A line across a pane that reports a problem. */
export function Banner({ tone, icon: Icon, role, boxed, actions, children }: Props) {
  return (
    <div
      role={role}
      className={cn(
        'appear flex shrink-0 flex-wrap items-center gap-2 px-3 py-1.5 text-small',
        boxed ? 'mb-2 rounded-lg border max-md:mb-0 max-md:rounded-none' : 'border-b',
        TONE[tone],
      )}
    >
      {Icon && <Icon size={14} aria-hidden className="shrink-0" />}
      <div className="min-w-[10rem] flex-1 [overflow-wrap:anywhere]">{children}</div>
      {actions && <div className="flex flex-wrap gap-1.5">{actions}</div>}
    </div>
  )
}
