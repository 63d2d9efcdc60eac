import { CircleCheck, CircleDashed } from 'lucide-react'
import type { Chunk } from '@/api/types'
import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'
import { ChunkFacts } from './ChunkFacts'

interface Props {
  index: number
  chunk: Chunk
  found: boolean
  selected: boolean
  onSelect: () => void
}

/** The header of a chunk, with its origin on demand. */
export function ChunkHead({ index, chunk, found, selected, onSelect }: Props) {
  const t = useT()
  const [a, b] = chunk.lines ?? []
  return (
    <div data-chunk={index} className="pt-2 pb-1 text-fg-3 text-meta tabular-nums">
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
        {a !== undefined && b !== undefined && (
          <span>{a === b ? t('line', { a: `${a}` }) : t('lines', { a: `${a}`, b: `${b}` })}</span>
        )}
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
