import { type KeyboardEvent, type ReactNode, type Ref, useImperativeHandle, useRef } from 'react'
import type { Hit, Weights } from '@/api/types'
import { isForeign } from '@/features/retrieval/ranking'
import { useT } from '@/lib/i18n'
import { ResultRow } from './ResultRow'
import type { Candidate } from './rerank'
import { useFlip } from './useFlip'

interface Props {
  ref: Ref<HTMLOListElement>
  ranked: Candidate[]
  weights: Weights
  /** The ranking uses a weight other than the server's: ranks may differ from the server's. */
  moved: boolean
  terms: string[]
  current: string | null
  /** The passage that a person has selected; the current one may be the first. */
  picked: string | null
  onSelect: (key: string) => void
  /** Null if the passage is already shown beside the list. */
  onShow: (() => void) | null
  onEdit: (hit: Hit) => void
  /** Further actions on a passage. */
  actionOf: (hit: Hit) => ReactNode
  /** The server's own sentence about a near miss. */
  details: ReadonlyMap<Hit, string>
}

/** Every candidate in order: first those that are handed on, then the near misses. */
export function Results(props: Props) {
  const { ref, ranked, weights, moved, terms, current, picked, onSelect, onShow, onEdit, actionOf, details } =
    props
  const t = useT()
  const list = useRef<HTMLOListElement>(null)
  useImperativeHandle(ref, () => list.current as HTMLOListElement)
  useFlip(list, ranked.map(candidate => candidate.key).join('\n'))
  const chosen = ranked.filter(candidate => candidate.chosen).length

  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    const rows = [...(list.current?.querySelectorAll<HTMLElement>('[data-row] > button') ?? [])]
    const at = rows.indexOf(event.target as HTMLElement)
    const next = step && at >= 0 ? rows[at + step] : undefined
    const key = next?.parentElement?.dataset.row
    if (!next || key === undefined) return
    event.preventDefault()
    onSelect(key)
    next.focus()
  }
  return (
    <ol ref={list} aria-label={t('passages')} onKeyDown={onKeyDown} className="relative p-2">
      {ranked.flatMap((candidate, i) => [
        i === chosen && (
          <li key="rest" className="mt-2 border-t px-2 pt-2 pb-1 text-fg-3 text-meta">
            {t('notHandedOn', { n: ranked.length - chosen })}
          </li>
        ),
        <ResultRow
          key={candidate.key}
          candidate={candidate}
          foreign={candidate.hit.how != null && isForeign(candidate.hit.how, weights)}
          moved={moved}
          terms={terms}
          detail={details.get(candidate.hit) ?? ''}
          selected={candidate.key === current}
          open={candidate.key === current && (!candidate.hit.weak || candidate.key === picked)}
          onSelect={() => onSelect(candidate.key)}
          onShow={onShow}
          onEdit={() => onEdit(candidate.hit)}
        >
          {actionOf(candidate.hit)}
        </ResultRow>,
      ])}
    </ol>
  )
}
