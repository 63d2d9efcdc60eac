import type { ReactNode } from 'react'
import { cn } from '@/lib/cn'

interface Props {
  on: boolean
  onChange: (on: boolean) => void
  icon: ReactNode
  hint?: string
  /** The full accessible name, if the visible text is only a part of it. */
  label?: string
  disabled?: boolean
  children: ReactNode
}

export function Switch({ on, onChange, icon, hint, label, disabled, children }: Props) {
  return (
    <button
      type="button"
      role="switch"
      aria-checked={on}
      aria-label={label}
      title={hint}
      disabled={disabled}
      onClick={() => onChange(!on)}
      className={cn(
        'inline-flex h-7 items-center gap-1.5 whitespace-nowrap rounded-full border px-2.5 text-small disabled:opacity-50 pointer-coarse:h-9 reach',
        on ? 'border-transparent bg-accent-soft text-accent' : 'text-fg-2 hover:bg-hover',
      )}
    >
      {icon}
      {children}
    </button>
  )
}
