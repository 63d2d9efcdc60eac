import { citations } from '@/lib/citation'
import { PassageLink } from './PassageLink'

/** Text with its citations as links. They keep their characters and their width: nothing moves when one appears. */
export function Cited({ text, growing }: { text: string; growing?: boolean }) {
  return citations(text, growing).map((piece, i) =>
    typeof piece === 'string' ? (
      piece
    ) : (
      <PassageLink key={i} place={piece.place} className="cite">
        {piece.text}
      </PassageLink>
    ),
  )
}
