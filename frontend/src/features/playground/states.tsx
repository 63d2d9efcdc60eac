import type { ReactNode } from 'react'

export const Notice = ({ children }: { children: ReactNode }) => (
  <p className="mx-auto max-w-[52ch] px-6 py-10 text-center text-[13px] text-fg-2">{children}</p>
)
