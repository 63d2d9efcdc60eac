import type { Place } from '@/api/retrieval'
import type { NearMiss } from '@/api/types'
import { PassageLink } from '@/components/PassageLink'
import { Disclosure } from '@/components/ui/Disclosure'
import { useT } from '@/lib/i18n'
import { useFold } from '@/stores/folds'
import { missWords, placeText, points } from './words'

export type Miss = Omit<NearMiss, 'hit'> & { hit: Place }

interface Props {
  id: string
  misses: Miss[]
  /** The search has no hits. */
  alone: boolean
}

/** Passages that were nearly handed on, each with the reason why they were not. Folded unless there are no hits. */
export function NearMisses({ id, misses, alone }: Props) {
  const t = useT()
  const [open, setOpen] = useFold(`${id}:misses`, alone)
  if (misses.length === 0) return null
  return (
    <Disclosure
      open={open}
      onToggle={setOpen}
      summaryClass="w-fit rounded-md px-1 py-0.5 text-small pointer-coarse:py-2"
      summary={t('nearMisses', { n: misses.length })}
    >
      <ul className="space-y-1 px-1 pt-0.5 text-fg-2 text-small">
        {misses.map((miss, i) => (
          <li key={i} className="flex items-baseline gap-x-2">
            <span className="flex min-w-0 flex-1 flex-wrap items-baseline gap-x-2">
              <PassageLink
                place={{ path: miss.hit.source, lines: miss.hit.lines ?? null }}
                className="text-[12px] text-rag tabular-nums underline underline-offset-2 [overflow-wrap:anywhere]"
              >
                {placeText(miss.hit)}
              </PassageLink>
              <span className="min-w-0 [overflow-wrap:anywhere]">
                {missWords(miss.hit, miss.reason, miss.detail, t)}
              </span>
            </span>
            <span className="shrink-0 text-fg-3 text-meta tabular-nums">
              {t('behind', { n: points(miss.behind) })}
            </span>
          </li>
        ))}
      </ul>
    </Disclosure>
  )
}
