import { visible } from '@/lib/visible'

/** A text with its invisible characters written out. */
export function Visible({ text }: { text: string }) {
  return visible(text).map((piece, i) =>
    piece.unseen ? (
      <mark key={i} className="rounded-sm bg-bad-soft text-bad">
        {piece.text}
      </mark>
    ) : (
      piece.text
    ),
  )
}
