import { CircleCheck, CircleDashed } from 'lucide-react'
import { useEffect, useRef } from 'react'
import type { Chunk } from '@/api/retrieval'
import { Marked } from '@/features/retrieval/Marked'
import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'
import { ChunkFacts } from './ChunkFacts'
import type { FileStretch } from './stretches'

interface Props {
  stretches: FileStretch[]
  chunks: Chunk[]
  terms: string[]
  /** The chunk that was found, or -1. */
  found: number
  selected: number
  onSelect: (chunk: number) => void
}

/** The text of a file; where a chunk begins stands its head. */
export function ChunkedText({ stretches, chunks, terms, found, selected, onSelect }: Props) {
  const t = useT()
  const box = useRef<HTMLDivElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another passage of the same file comes into view too
  useEffect(() => {
    box.current?.querySelector(`[data-chunk="${found}"]`)?.scrollIntoView({ block: 'start' })
  }, [found, chunks])
  return (
    <div
      ref={box}
      tabIndex={0}
      role="group"
      aria-label={t('chunkText')}
      className="scroll min-h-0 flex-1 px-3 py-2"
    >
      {stretches.map(stretch => {
        const begins = stretch.chunks.filter(
          n => chunks[n]?.range[0] === stretch.start || stretches[0] === stretch,
        )
        const on = stretch.chunks.includes(selected)
        const blank = stretch.text.trim() === ''
        if (stretch.chunks.length === 0 && blank) return null
        return (
          <div
            key={stretch.start}
            className="[contain-intrinsic-block-size:auto_8em] [content-visibility:auto]"
          >
            {begins.map(n => (
              <ChunkHead
                key={n}
                index={n}
                chunk={chunks[n] as Chunk}
                found={n === found}
                selected={n === selected}
                onSelect={() => onSelect(n)}
              />
            ))}
            {!blank && (
              // biome-ignore lint/a11y/noStaticElementInteractions: the head of the chunk is the button; this is a larger target
              // biome-ignore lint/a11y/useKeyWithClickEvents: the head of the chunk is the button
              <div
                onClick={() => stretch.chunks[0] !== undefined && onSelect(stretch.chunks.at(-1) as number)}
                className={cn(
                  'whitespace-pre-wrap border-s-2 py-0.5 ps-3 text-[13px] leading-[1.6] [overflow-wrap:anywhere]',
                  on ? 'border-rag bg-rag-soft' : 'border-line',
                  stretch.chunks.length === 0 && 'border-dotted text-fg-3',
                )}
              >
                {stretch.chunks.length !== 1 && (
                  <span className="block text-fg-3 text-meta">
                    {stretch.chunks.length === 0
                      ? t('inNoChunk')
                      : t('inChunks', { list: stretch.chunks.map(n => `#${n + 1}`).join(', ') })}
                  </span>
                )}
                <Marked text={stretch.text.replace(/^\n+|\n+$/g, '')} terms={on ? terms : []} />
              </div>
            )}
          </div>
        )
      })}
    </div>
  )
}

interface HeadProps {
  index: number
  chunk: Chunk
  found: boolean
  selected: boolean
  onSelect: () => void
}

function ChunkHead({ index, chunk, found, selected, onSelect }: HeadProps) {
  const t = useT()
  const [a, b] = chunk.lines
  return (
    <div data-chunk={index} className="scroll-mt-1 pt-2 pb-1 text-fg-3 text-meta tabular-nums">
      <button
        type="button"
        aria-expanded={selected}
        onClick={onSelect}
        className={cn(
          'flex w-full items-center gap-2 rounded-md border border-dashed px-2 py-0.5 text-start hover:bg-hover pointer-coarse:py-2',
          selected && 'border-rag border-solid text-rag',
        )}
      >
        <span className="font-semibold">#{index + 1}</span>
        <span>{a === b ? t('line', { a }) : t('lines', { a, b })}</span>
        {found && <span className="rounded-full bg-rag-soft px-1.5 text-rag">{t('foundHere')}</span>}
        <span className="ms-auto">{t('tokens', { n: chunk.tokens })}</span>
        {chunk.embedded ? (
          <CircleCheck size={12} aria-label={t('embedded')} className="text-ok" />
        ) : (
          <CircleDashed size={12} aria-label={t('notEmbedded')} className="text-warn" />
        )}
      </button>
      {selected && <ChunkFacts chunk={chunk} />}
    </div>
  )
}
