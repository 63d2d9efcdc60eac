import { type KeyboardEvent, type PointerEvent, useRef } from 'react'

interface Props {
  value: number
  min: number
  max: number
  start: number
  /** 1 when dragging to the right makes the pane wider, -1 when it makes it narrower. */
  direction: 1 | -1
  label: string
  controls: string
  onChange: (value: number) => void
  onCollapse: () => void
}

/** Arrows move 16 px, with Shift 64 px; Home and End go to the limits; Enter collapses; a double click resets. */
export function Splitter({
  value,
  min,
  max,
  start,
  direction,
  label,
  controls,
  onChange,
  onCollapse,
}: Props) {
  const grip = useRef<{ x: number; value: number } | null>(null)
  const move = (to: number) => onChange(Math.round(Math.min(max, Math.max(min, to))))
  const release = () => {
    grip.current = null
  }
  const onPointerDown = (event: PointerEvent<HTMLElement>) => {
    event.currentTarget.setPointerCapture(event.pointerId)
    grip.current = { x: event.clientX, value }
  }
  const onPointerMove = (event: PointerEvent<HTMLElement>) => {
    if (grip.current) move(grip.current.value + direction * (event.clientX - grip.current.x))
  }
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    const step = (event.shiftKey ? 64 : 16) * direction
    const targets: Record<string, number> = {
      ArrowLeft: value - step,
      ArrowRight: value + step,
      Home: min,
      End: max,
    }
    const target = targets[event.key]
    if (target !== undefined) move(target)
    else if (event.key === 'Enter') onCollapse()
    else return
    event.preventDefault()
  }
  return (
    <div
      role="separator"
      aria-orientation="vertical"
      aria-label={label}
      aria-controls={controls}
      aria-valuenow={value}
      aria-valuemin={min}
      aria-valuemax={max}
      tabIndex={0}
      onPointerDown={onPointerDown}
      onPointerMove={onPointerMove}
      onPointerUp={release}
      onLostPointerCapture={release}
      onDoubleClick={() => onChange(start)}
      onKeyDown={onKeyDown}
      className="group relative z-10 w-2 shrink-0 cursor-col-resize touch-none"
    >
      <span className="absolute inset-y-6 left-1/2 w-[3px] -translate-x-1/2 rounded-full bg-accent opacity-0 transition-opacity group-hover:opacity-50 group-focus-visible:opacity-100 group-active:opacity-100" />
    </div>
  )
}
