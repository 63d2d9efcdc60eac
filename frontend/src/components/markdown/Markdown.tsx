import { memo, useMemo, useRef } from 'react'
import { cn } from '@/lib/cn'
import { IncrementalMarkdown, type Block as Piece } from '@/lib/incremental'
import { useOffscreen } from '@/lib/offscreen'
import { Block } from './Block'
import { headingLevels } from './levels'
import { useSought } from './sought'

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

/** Number of blocks per part: a new block re-renders only its own part of a long answer. */
const PART = 8
/** A text with more parts than this is long: parts far from the screen keep only their height. */
const LONG = 6

interface PartProps {
  pieces: Piece[]
  levels: number[]
  /** Whether the last piece still grows. */
  growing: boolean
  /** Whether the part may be omitted while it is far from the screen. */
  long: boolean
  /** Whether the part contains what the search looks for. */
  sought: boolean
}

const same = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((item, i) => item === b[i])

const Part = memo(
  function Part({ pieces, levels, growing, long, sought }: PartProps) {
    const box = useRef<HTMLDivElement>(null)
    const height = useOffscreen(box, long && !growing ? pieces : null)
    const last = pieces.length - 1
    return (
      <div
        ref={box}
        className="part"
        data-sought={sought || undefined}
        style={height === null ? undefined : { height }}
      >
        {height === null &&
          pieces.map((piece, i) => (
            <PieceView key={piece.id} piece={piece} live={growing && i === last} level={levels[i] ?? 0} />
          ))}
      </div>
    )
  },
  (a, b) =>
    a.growing === b.growing &&
    a.long === b.long &&
    a.sought === b.sought &&
    same(a.pieces, b.pieces) &&
    same(a.levels, b.levels),
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
  const { pieces, levels, growing } = useMemo(() => {
    source.update(text, !streaming)
    const pieces = source.tail ? [...source.blocks, source.tail] : source.blocks
    return { pieces, levels: headingLevels(pieces), growing: source.tail !== null }
  }, [source, text, streaming])
  const parts = Array.from({ length: Math.ceil(pieces.length / PART) }, (_, n) =>
    pieces.slice(n * PART, (n + 1) * PART),
  )
  const sought = useSought(parts)
  return (
    <div className={cn('md', streaming && 'live')}>
      {parts.map((pieces, n) => (
        <Part
          key={n}
          pieces={pieces}
          levels={levels.slice(n * PART, (n + 1) * PART)}
          growing={growing && n === parts.length - 1}
          long={parts.length > LONG}
          sought={n === sought}
        />
      ))}
    </div>
  )
})
