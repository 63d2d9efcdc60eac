import { ChevronRight } from 'lucide-react'
import type { ReactNode } from 'react'
import { cn } from '@/lib/cn'

interface Props {
  summary: ReactNode
  open: boolean
  onToggle: (open: boolean) => void
  className?: string
  summaryClass?: string
  children: ReactNode
}

/** A native <details> with external state, so that a list can unmount and remount it. */
export function Disclosure({ summary, open, onToggle, className, summaryClass, children }: Props) {
  return (
    <details className={className} open={open}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the browser treats a summary as a button */}
      <summary
        className={cn('flex items-center gap-2 pointer-coarse:min-h-11', summaryClass)}
        onClick={event => {
          event.preventDefault()
          onToggle(!open)
        }}
      >
        {summary}
        <ChevronRight size={14} aria-hidden className="chevron shrink-0" />
      </summary>
      {open && children}
    </details>
  )
}
