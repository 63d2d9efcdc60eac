import type { LucideIcon } from 'lucide-react'
import type { ReactNode } from 'react'

/** A hint in the middle of a pane that has nothing to show yet. */
export const Placeholder = ({ icon: Icon, children }: { icon: LucideIcon; children: ReactNode }) => (
  <div className="m-auto flex flex-col items-center gap-2 p-6 text-center text-fg-3 text-small">
    <Icon size={22} aria-hidden />
    {children}
  </div>
)
