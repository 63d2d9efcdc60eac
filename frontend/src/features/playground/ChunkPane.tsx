import { Pane } from '@/components/ui/Pane'
import { Placeholder } from '@/components/ui/Placeholder'
import { QueryError } from '@/components/ui/QueryError'
import '@/lib/later'
import { FilePen, Rows3 } from 'lucide-react'
import { useMemo, useState } from 'react'
import { useChunks, useFileText } from '@/api/queries'
import { IconButton } from '@/components/ui/Button'
import { Skeleton } from '@/components/ui/Skeleton'
import { openPassage } from '@/features/editor/passage'
import { ChunkedText } from '@/features/passages/ChunkedText'
import { chunkOf, stretchesOf, stretchesOfChunks } from '@/features/passages/stretches'
import { useT } from '@/lib/i18n'
import { useUi } from '@/stores/ui'

/** The passage selected in the playground in its file, with the borders of all chunks. */
export default function ChunkPane() {
  const t = useT()
  const passage = useUi(s => s.passage)
  const path = passage?.path ?? null
  const chunks = useChunks(path)
  const file = useFileText(path)
  const [picked, setPicked] = useState<{ of: typeof passage; chunk: number } | null>(null)
  const list = chunks.data?.chunks
  // Byte offsets refer to the extracted text: of a PDF or an HTML page only the chunks can be shown.
  const text = list?.every(chunk => chunk.lines) ? file.data?.content : undefined
  const range = passage?.range ?? null
  const stretches = useMemo(() => {
    if (!list) return []
    return text === undefined ? stretchesOfChunks(list, range) : stretchesOf(text, list, range)
  }, [text, list, range])
  const found = list ? chunkOf(list, range) : -1
  return (
    <Pane id="pane-right" aria-label={t('chunkPane')}>
      <header className="flex h-11 shrink-0 items-center gap-2 border-b ps-3 pe-2 max-md:h-12">
        <h2 className="min-w-0 flex-1 truncate font-mono text-[12px]" title={path ?? undefined}>
          {path ?? t('chunkPane')}
        </h2>
        {list && (
          <span className="shrink-0 text-fg-3 text-meta tabular-nums">
            {t('indexChunks', { n: list.length })}
          </span>
        )}
        {path !== null && (
          <IconButton
            label={t('editFile')}
            onClick={() => void openPassage({ path, lines: passage?.lines ?? null })}
          >
            <FilePen size={16} aria-hidden />
          </IconButton>
        )}
      </header>
      {path === null && <Placeholder icon={Rows3}>{t('pickPassage')}</Placeholder>}
      {chunks.error && <QueryError error={chunks.error} onRetry={() => void chunks.refetch()} />}
      {path !== null && !chunks.error && (!list || file.isLoading) && (
        <Skeleton label={t('loading')} rows={8} />
      )}
      {list && !file.isLoading && (
        <ChunkedText
          key={path}
          stretches={stretches}
          chunks={list}
          terms={passage?.terms ?? []}
          found={found}
          foundAt={range?.[0] ?? null}
          selected={picked?.of === passage && picked ? picked.chunk : found}
          onSelect={chunk => setPicked({ of: passage, chunk })}
        />
      )}
    </Pane>
  )
}
