import type { ReactNode } from 'react'
import { Splitter } from '@/components/ui/Splitter'
import type { Width } from '@/lib/useMedia'
import { CHUNKS, LEFT, RIGHT, useUi } from '@/stores/ui'

const LIMITS = { left: LEFT, right: RIGHT, chunks: CHUNKS }
type Side = keyof typeof LIMITS

interface PaneProps {
  of: Side
  width: Width
  className: string
  children: ReactNode
}

/** A pane beside the middle one, with the width that its splitter sets. Resizing does not re-render its content. */
export function SizedPane({ of, width, className, children }: PaneProps) {
  const pixels = useUi(s => s[of])
  return (
    <div className={className} style={width === 'wide' ? { width: pixels } : undefined}>
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
