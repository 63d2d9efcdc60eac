import { memo, useMemo, useRef } from 'react'
import { cn } from '@/lib/cn'
import { IncrementalMarkdown, type Block as Piece } from '@/lib/incremental'
import { Block } from './Block'

const PieceView = memo(
  function PieceView({ piece, live }: { piece: Piece; live: boolean }) {
    return piece.tokens.map((token, i) => <Block key={i} token={token} live={live} />)
  },
  (a, b) => a.live === b.live && a.piece.tokens === b.piece.tokens,
)

interface Props {
  text: string
  streaming?: boolean
}

/** Renders Markdown to elements, block by block; the text of a model never becomes HTML. */
export const Markdown = memo(function Markdown({ text, streaming = false }: Props) {
  const splitter = useRef<IncrementalMarkdown>(null)
  splitter.current ??= new IncrementalMarkdown()
  const source = splitter.current
  const { blocks, tail } = useMemo(() => {
    source.update(text, !streaming)
    return { blocks: source.blocks, tail: source.tail }
  }, [source, text, streaming])
  return (
    <div className={cn('md', streaming && 'live')}>
      {blocks.map(piece => (
        <PieceView key={piece.id} piece={piece} live={false} />
      ))}
      {tail && <PieceView key={tail.id} piece={tail} live />}
    </div>
  )
})
