import { markTerms } from './markTerms'

/** A text with the words of the question highlighted. */
export function Marked({ text, terms }: { text: string; terms: readonly string[] }) {
  return markTerms(text, terms).map((stretch, i) =>
    stretch.marked ? (
      <mark key={i} className="rounded-[3px] bg-warn-soft text-fg ring-1 ring-warn-line">
        {stretch.text}
      </mark>
    ) : (
      stretch.text
    ),
  )
}
