import { Upload } from 'lucide-react'
import { type DragEvent, type ReactNode, useRef, useState } from 'react'
import { cn } from '@/lib/cn'

interface Props {
  /** Label shown while files are dragged over it. */
  words: string
  className?: string
  /** Null if nothing may be dropped here. */
  onFiles: ((files: File[], transfer: DataTransfer, target: Element) => void) | null
  children: ReactNode
}

/** Accepts dropped files, and shows a label while files are dragged over it. */
export function DropZone({ words, className, onFiles, children }: Props) {
  const [over, setOver] = useState(false)
  // Moving from one child to another fires both a leave and an enter.
  const depth = useRef(0)
  const brings = (event: DragEvent) => onFiles !== null && event.dataTransfer.types.includes('Files')
  const end = () => {
    depth.current = 0
    setOver(false)
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: a button beside it does the same by keyboard
    <div
      className={cn('relative flex min-h-0 flex-col', className)}
      onDragEnter={event => {
        if (!brings(event)) return
        depth.current += 1
        setOver(true)
      }}
      onDragLeave={() => {
        depth.current -= 1
        if (depth.current <= 0) end()
      }}
      onDragOver={event => {
        if (brings(event)) event.preventDefault()
      }}
      onDrop={event => {
        if (!brings(event)) return
        event.preventDefault()
        end()
        onFiles?.([...event.dataTransfer.files], event.dataTransfer, event.target as Element)
      }}
    >
      {children}
      {over && (
        <div className="pointer-events-none absolute inset-1 z-10 flex items-center justify-center gap-2 rounded-lg border-2 border-accent border-dashed bg-accent-soft font-medium text-accent text-small">
          <Upload size={16} aria-hidden />
          {words}
        </div>
      )}
    </div>
  )
}
