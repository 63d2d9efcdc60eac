import { markWords } from '@/lib/needle'

/** A text in which the words of a search are marked. */
export function MarkedWords({ text, words }: { text: string; words: string[] }) {
  return markWords(text, words).map((stretch, i) =>
    stretch.marked ? (
      <mark key={i} className="rounded-[3px] bg-warn-soft text-fg ring-1 ring-warn-line">
        {stretch.text}
      </mark>
    ) : (
      stretch.text
    ),
  )
}
