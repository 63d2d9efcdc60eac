import type { Stretch } from '@/lib/needle'

/** A text in stretches, of which those that a search found are marked. */
export function MarkedText({ stretches }: { stretches: readonly Stretch[] }) {
  return stretches.map((stretch, i) =>
    stretch.marked ? (
      <mark key={i} className="rounded-[3px] bg-warn-soft text-fg ring-1 ring-warn-line">
        {stretch.text}
      </mark>
    ) : (
      stretch.text
    ),
  )
}
