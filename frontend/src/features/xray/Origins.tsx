import { Bar } from '@/components/ui/Bar'
import { openPassage } from '@/features/editor/passage'
import { OriginRow } from './OriginRow'
import type { Origin } from './parts'

const COLOUR: Record<Origin['kind'], string> = {
  file: 'bg-accent',
  text: 'bg-fg-3',
  client: 'bg-fg-3/50',
  tools: 'bg-warn',
  history: 'bg-ok',
  retrieval: 'bg-rag',
  question: 'bg-accent/50',
  work: 'bg-warn/50',
}

interface Props {
  origins: readonly Origin[]
  total: number
  onLeave: () => void
}

/** The pieces of a request, coloured by their origin. */
export function Origins({ origins, total, onLeave }: Props) {
  return (
    <>
      <Bar
        parts={origins.map(origin => ({
          share: total > 0 ? origin.tokens / total : 0,
          className: COLOUR[origin.kind],
        }))}
      />
      <ul className="mt-3 space-y-1">
        {origins.map((origin, i) => (
          <li key={`${origin.kind}:${origin.label}:${i}`}>
            <OriginRow
              origin={origin}
              colour={COLOUR[origin.kind]}
              onOpen={place => {
                onLeave()
                void openPassage(place)
              }}
            />
          </li>
        ))}
      </ul>
    </>
  )
}
