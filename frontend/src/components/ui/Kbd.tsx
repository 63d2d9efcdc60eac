import type { ReactNode } from 'react'

export function Kbd({ children }: { children: ReactNode }) {
  return <kbd className="rounded border bg-code px-1 font-sans text-[11px] text-fg-2">{children}</kbd>
}
