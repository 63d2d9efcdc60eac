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

/** So many blocks stand together: a new one concerns its own part, and not every block of a long answer. */
const PART = 8
/** Parts from the end that may still be on the screen; skipping one that is seen would move it for a moment. */
const NEAR = 6

interface PartProps {
  pieces: Piece[]
  levels: number[]
  /** Whether the last piece still grows. */
  growing: boolean
  /** It has been laid out and others came after it: out of sight it costs nothing, and keeps the height it had. */
  past: boolean
}

const same = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((item, i) => item === b[i])

const Part = memo(
  function Part({ pieces, levels, growing, past }: PartProps) {
    const last = pieces.length - 1
    return (
      <div className={cn('part', past && 'past')}>
        {pieces.map((piece, i) => (
          <PieceView key={piece.id} piece={piece} live={growing && i === last} level={levels[i] ?? 0} />
        ))}
      </div>
    )
  },
  (a, b) =>
    a.growing === b.growing && a.past === b.past && same(a.pieces, b.pieces) && same(a.levels, b.levels),
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
  const grown = useRef(streaming)
  const parts = Math.ceil(pieces.length / PART)
  return (
    <div className={cn('md', streaming && 'live')}>
      {Array.from({ length: parts }, (_, n) => {
        const [from, to] = [n * PART, (n + 1) * PART]
        return (
          <Part
            key={n}
            pieces={pieces.slice(from, to)}
            levels={levels.slice(from, to)}
            growing={growing && n === parts - 1}
            past={grown.current && n < parts - NEAR}
          />
        )
      })}
    </div>
  )
})
