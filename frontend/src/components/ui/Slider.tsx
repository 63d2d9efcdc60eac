interface Props {
  label: string
  value: number
  min: number
  max: number
  step: number
  /** The value as a screen reader announces it. */
  text: string
  /** A value to mark on the track, such as the default. */
  mark?: number | null
  disabled?: boolean
  onChange: (value: number) => void
}

/** Half the width of the thumb in px, by which both ends of the track are inset. */
const INSET = 8

export function Slider({ label, value, min, max, step, text, mark, disabled = false, onChange }: Props) {
  const share = mark == null ? 0 : (mark - min) / (max - min)
  return (
    <span className="relative block min-w-0 flex-1">
      <input
        type="range"
        aria-label={label}
        aria-valuetext={text}
        {...{ value, min, max, step, disabled }}
        onChange={event => onChange(Number(event.target.value))}
        className="block h-6 w-full cursor-pointer disabled:cursor-default disabled:opacity-50 accent-(--accent) pointer-coarse:h-11"
      />
      {mark != null && (
        <span
          aria-hidden
          className="pointer-events-none absolute -bottom-0.5 h-1.5 w-0.5 -translate-x-1/2 rounded-full bg-fg-2"
          style={{ left: `calc(${INSET}px + (100% - ${2 * INSET}px) * ${share})` }}
        />
      )}
    </span>
  )
}
