import { memo, useMemo, useRef } from 'react'
import { cn } from '@/lib/cn'
import { IncrementalMarkdown, type Block as Piece } from '@/lib/incremental'
import { Block } from './Block'
import { headingLevels } from './levels'

interface PieceProps {
  piece: Piece
  live: boolean
  level: number
}

const PieceView = memo(
  function PieceView({ piece, live, level }: PieceProps) {
    return piece.tokens.map((token, i) => <Block key={i} token={token} live={live} level={level} />)
  },
  (a, b) => a.live === b.live && a.level === b.level && a.piece.tokens === b.piece.tokens,
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
  const { blocks, tail, levels } = useMemo(() => {
    source.update(text, !streaming)
    const pieces = source.tail ? [...source.blocks, source.tail] : source.blocks
    return { blocks: source.blocks, tail: source.tail, levels: headingLevels(pieces) }
  }, [source, text, streaming])
  return (
    <div className={cn('md', streaming && 'live')}>
      {blocks.map((piece, i) => (
        <PieceView key={piece.id} piece={piece} live={false} level={levels[i] ?? 0} />
      ))}
      {tail && <PieceView key={tail.id} piece={tail} live level={levels[blocks.length] ?? 0} />}
    </div>
  )
})
