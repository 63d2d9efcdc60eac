import { BookOpen } from 'lucide-react'
import type { Hit } from '@/api/types'
import { Disclosure } from '@/components/ui/Disclosure'
import { useT } from '@/lib/i18n'
import { useFold } from '@/stores/folds'
import { openFile } from '@/stores/ui'

export function RetrievalCard({ id, hits }: { id: string; hits: Hit[] }) {
  const t = useT()
  const [open, setOpen] = useFold(id, true)
  const title =
    hits.length === 0
      ? t('retrievedNone')
      : hits.length === 1
        ? t('retrievedOne')
        : t('retrieved', { n: hits.length })
  return (
    <Disclosure
      open={open}
      onToggle={setOpen}
      className="rounded-lg border border-rag-line bg-rag-soft text-[13px] text-rag"
      summaryClass="rounded-lg px-3 py-2 font-medium"
      summary={
        <>
          <BookOpen size={14} aria-hidden />
          <span className="me-auto">{title}</span>
        </>
      }
    >
      <ul className="space-y-1.5 px-3 pb-2.5">
        {hits.map((hit, i) => (
          <HitRow key={i} hit={hit} />
        ))}
      </ul>
    </Disclosure>
  )
}

function HitRow({ hit }: { hit: Hit }) {
  const t = useT()
  const [from, to] = hit.lines ?? []
  return (
    <li className="rounded-md border border-rag-line bg-card px-2.5 py-1.5 text-fg">
      <div className="flex flex-wrap items-center gap-x-2 text-[12px]">
        <button
          type="button"
          title={t('openFile', { path: hit.source })}
          onClick={() => openFile(hit.source, hit.lines)}
          className="max-w-full truncate text-rag underline underline-offset-2"
        >
          {hit.source}
        </button>
        {hit.heading && <span className="min-w-0 truncate text-fg-2">{hit.heading}</span>}
        {from !== undefined && to !== undefined && (
          <span className="text-fg-3 tabular-nums">
            {from === to ? t('line', { a: from }) : t('lines', { a: from, b: to })}
          </span>
        )}
        <span className="ms-auto text-fg-3 tabular-nums" title={t('score', { n: hit.score })}>
          {hit.score.toFixed(2)}
        </span>
      </div>
      <p title={hit.text} className="line-clamp-3 text-fg-2 text-small [overflow-wrap:anywhere]">
        {hit.text}
      </p>
    </li>
  )
}
