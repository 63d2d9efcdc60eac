import { useEffect, useRef } from 'react'
import type { Chunk } from '@/api/types'
import { Marked } from '@/features/retrieval/Marked'
import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'
import { ChunkHead } from './ChunkHead'
import type { FileStretch } from './stretches'

/** Number of stretches from which those off the screen are not painted. */
const LONG = 300

interface Props {
  stretches: FileStretch[]
  chunks: Chunk[]
  terms: string[]
  /** Index of the chunk that contains most of the found passage, or -1. */
  found: number
  /** Changes when another passage has to be scrolled into view. */
  foundAt: number | null
  selected: number
  onSelect: (chunk: number) => void
}

/** The text of a file with the found passage coloured, and a header at the start of each chunk. */
export function ChunkedText({ stretches, chunks, terms, found, foundAt, selected, onSelect }: Props) {
  const t = useT()
  const box = useRef<HTMLDivElement>(null)
  const long = stretches.length > LONG
  // biome-ignore lint/correctness/useExhaustiveDependencies: another passage of the same file comes into view too
  useEffect(() => {
    const show = () => box.current?.querySelector('[data-found]')?.scrollIntoView({ block: 'start' })
    show()
    // In a long file, text gets its true height only near the screen, which then moves the text below it.
    let frame = requestAnimationFrame(() => {
      frame = requestAnimationFrame(show)
    })
    return () => cancelAnimationFrame(frame)
  }, [foundAt, chunks])
  return (
    <div
      ref={box}
      tabIndex={0}
      role="group"
      aria-label={t('chunkText')}
      className="scroll min-h-0 flex-1 px-3 py-2"
    >
      {stretches.map((stretch, i) => {
        const heads = stretch.chunks.filter(n => chunks[n]?.range[0] === stretch.start)
        const first = stretch.found && !stretches[i - 1]?.found
        if (stretch.text.trim() === '' && heads.length === 0) return null
        return (
          <div
            key={i}
            data-found={first || undefined}
            className={cn(long && '[contain-intrinsic-block-size:auto_12em] [content-visibility:auto]')}
          >
            {heads.map(n => (
              <ChunkHead
                key={n}
                index={n}
                chunk={chunks[n] as Chunk}
                found={n === found}
                selected={n === selected}
                onSelect={() => onSelect(n)}
              />
            ))}
            <Piece
              stretch={stretch}
              selected={stretch.chunks.includes(selected)}
              terms={stretch.found ? terms : []}
              onSelect={onSelect}
            />
          </div>
        )
      })}
    </div>
  )
}

interface PieceProps {
  stretch: FileStretch
  selected: boolean
  terms: string[]
  onSelect: (chunk: number) => void
}

function Piece({ stretch: { text, chunks, found }, selected, terms, onSelect }: PieceProps) {
  const t = useT()
  const own = chunks.at(-1)
  if (text.trim() === '') return null
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the head of the chunk is the button; this is a larger target
    // biome-ignore lint/a11y/useKeyWithClickEvents: the head of the chunk is the button
    <div
      onClick={() => own !== undefined && onSelect(own)}
      className={cn(
        'whitespace-pre-wrap border-s-2 py-0.5 ps-3 text-[13px] leading-[1.6] [overflow-wrap:anywhere]',
        selected ? 'border-rag' : 'border-line',
        found && 'bg-rag-soft',
        chunks.length === 0 && 'border-dotted text-fg-3',
      )}
    >
      {chunks.length !== 1 && (
        <span className="block text-fg-3 text-meta">
          {chunks.length === 0
            ? t('inNoChunk')
            : t('inChunks', { list: chunks.map(n => `#${n + 1}`).join(', ') })}
        </span>
      )}
      <Marked text={text.replace(/^\n+|\n+$/g, '')} terms={terms} />
    </div>
  )
}
