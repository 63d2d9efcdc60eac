import '@/lib/later'
import { useState } from 'react'
import { useChunks } from '@/api/queries'
import { Unreadable } from '@/components/Unreadable'
import { Skeleton } from '@/components/ui/Skeleton'
import { useT } from '@/lib/i18n'
import { useUi } from '@/stores/ui'
import { ChunkedText } from './ChunkedText'
import { chunkOf, stretchesOfChunks } from './stretches'

interface Props {
  path: string
  /** Why the file itself cannot be shown. */
  reason: string
}

/** The text that the index extracted from a file such as a PDF, scrolled to the found passage. */
export default function ReadText({ path, reason }: Props) {
  const t = useT()
  const { data, isLoading } = useChunks(path)
  const passage = useUi(s => (s.passage?.path === path ? s.passage : null))
  const [picked, setPicked] = useState<{ of: typeof passage; chunk: number } | null>(null)
  if (isLoading) return <Skeleton label={t('loading')} rows={8} />
  const chunks = data?.chunks ?? []
  if (chunks.length === 0) return <Unreadable reason={reason} />
  const range = passage?.range ?? null
  const found = chunkOf(chunks, range)
  return (
    <>
      <p className="shrink-0 border-y bg-pane-2 px-3 py-2 text-fg-2 text-small">{t('readOfFile')}</p>
      <ChunkedText
        key={path}
        stretches={stretchesOfChunks(chunks, range)}
        chunks={chunks}
        terms={passage?.terms ?? []}
        found={found}
        foundAt={range?.[0] ?? null}
        selected={picked && picked.of === passage ? picked.chunk : -1}
        onSelect={chunk => setPicked({ of: passage, chunk })}
      />
    </>
  )
}
