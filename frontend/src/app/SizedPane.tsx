import type { ReactNode } from 'react'
import { Splitter } from '@/components/ui/Splitter'
import { CHUNKS, LEFT, RIGHT, useUi } from '@/stores/ui'

const LIMITS = { left: LEFT, right: RIGHT, chunks: CHUNKS }
type Side = keyof typeof LIMITS

interface PaneProps {
  of: Side
  /** Whether the pane has a splitter; otherwise the class names give it its width. */
  sized: boolean
  className: string
  children: ReactNode
}

/** A pane beside the middle one, with the width that its splitter sets. Resizing does not re-render its content. */
export function SizedPane({ of, sized, className, children }: PaneProps) {
  const pixels = useUi(s => s[of])
  return (
    <div className={className} style={sized ? { width: pixels } : undefined}>
      {children}
    </div>
  )
}

interface SplitterProps {
  of: Side
  direction: 1 | -1
  label: string
  controls: string
  onCollapse: () => void
}

export function PaneSplitter({ of, ...props }: SplitterProps) {
  const value = useUi(s => s[of])
  return (
    <Splitter
      {...props}
      {...LIMITS[of]}
      value={value}
      onChange={pixels => useUi.setState({ [of]: pixels })}
    />
  )
}
