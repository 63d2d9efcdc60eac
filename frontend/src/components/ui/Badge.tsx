import type { ReactNode } from 'react'
import { cn } from '@/lib/cn'

const TONE = {
  plain: 'bg-code text-fg-2',
  ok: 'bg-code text-ok',
  warn: 'border-warn-line bg-warn-soft text-warn',
  bad: 'border-bad-line bg-bad-soft text-bad',
}

export function Badge({ tone = 'plain', children }: { tone?: keyof typeof TONE; children: ReactNode }) {
  return (
    <span
      className={cn(
        'inline-flex shrink-0 items-center gap-1 whitespace-nowrap rounded-full border px-1.5 text-[11px] leading-[18px]',
        TONE[tone],
      )}
    >
      {children}
    </span>
  )
}
