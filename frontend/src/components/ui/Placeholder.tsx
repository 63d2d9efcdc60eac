import type { LucideIcon } from 'lucide-react'
import type { ReactNode } from 'react'

/** In the middle of a pane that has nothing to show yet: what to do about it. */
export const Placeholder = ({ icon: Icon, children }: { icon: LucideIcon; children: ReactNode }) => (
  <div className="m-auto flex flex-col items-center gap-2 p-6 text-center text-fg-3 text-small">
    <Icon size={22} aria-hidden />
    {children}
  </div>
)
