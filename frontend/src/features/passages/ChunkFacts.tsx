import type { Chunk } from '@/api/types'
import { count } from '@/lib/format'
import { useT } from '@/lib/i18n'

/** The origin of a chunk. */
export function ChunkFacts({ chunk }: { chunk: Chunk }) {
  const t = useT()
  const [from, to] = chunk.range
  const n = count
  const facts: [string, string][] = [
    [t('factHeading'), chunk.heading ?? '–'],
    [t('factLines'), chunk.lines?.join('–') ?? '–'],
    [t('factBytes'), `${n(from)}–${n(to)} (${n(to - from)})`],
    [t('factTokens'), n(chunk.tokens)],
    [t('factVector'), t(chunk.embedded ? 'embedded' : 'notEmbedded')],
    [t('factId'), chunk.id],
  ]
  return (
    <dl className="grid grid-cols-[auto_1fr] gap-x-3 px-2 pt-1.5">
      {facts.map(([name, value]) => (
        <div key={name} className="contents">
          <dt>{name}</dt>
          <dd className="min-w-0 text-fg-2 [overflow-wrap:anywhere]">{value}</dd>
        </div>
      ))}
    </dl>
  )
}
