import { markTerms } from './markTerms'

/** Text with the words of the question in it made visible. */
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
