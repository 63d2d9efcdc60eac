import { citations } from '@/lib/citation'
import { MessageLink } from './MessageLink'
import { PassageLink } from './PassageLink'

/**
 * Text with its citations as links. Their characters and width stay the same, so nothing moves when a link appears.
 */
export function Cited({ text, growing }: { text: string; growing?: boolean }) {
  return citations(text, growing).map((piece, i) =>
    typeof piece === 'string' ? (
      piece
    ) : 'message' in piece ? (
      <MessageLink key={i} place={piece.message} className="cite">
        {piece.text}
      </MessageLink>
    ) : (
      <PassageLink key={i} place={piece.place} className="cite">
        {piece.text}
      </PassageLink>
    ),
  )
}
