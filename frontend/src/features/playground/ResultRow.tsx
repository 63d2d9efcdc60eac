import { ArrowDown, ArrowUp, FilePen, PanelRight } from 'lucide-react'
import type { ReactNode } from 'react'
import { Bar } from '@/components/ui/Bar'
import { Button } from '@/components/ui/Button'
import { Marked } from '@/features/retrieval/Marked'
import { fromFirstTerm } from '@/features/retrieval/markTerms'
import { WeakBadge } from '@/features/retrieval/WeakBadge'
import Why from '@/features/retrieval/Why'
import { missWords, placeText, points } from '@/features/retrieval/words'
import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'
import type { Candidate } from './rerank'

interface Props {
  candidate: Candidate
  foreign: boolean
  moved: boolean
  terms: string[]
  detail: string
  selected: boolean
  /** The whole passage and its scores are shown. A weak one is one line until a person opens it. */
  open: boolean
  onSelect: () => void
  onShow: (() => void) | null
  onEdit: () => void
  /** Further actions on the selected row. */
  children: ReactNode
}

/** A candidate; the open one is expanded. */
export function ResultRow(props: Props) {
  const { candidate, foreign, moved, terms, detail, selected, open, onSelect, onShow, onEdit, children } =
    props
  const t = useT()
  const { key, hit, rank, score, weight, miss } = candidate
  return (
    <li data-row={key} className={cn('rounded-md', selected && 'bg-sel')}>
      <button
        type="button"
        aria-expanded={open}
        onClick={onSelect}
        className="block w-full rounded-md px-2 py-1.5 text-start hover:bg-hover"
      >
        <span className="flex items-baseline gap-2 text-[12.5px]">
          <span className="flex w-9 shrink-0 items-baseline gap-0.5 tabular-nums">
            <span className={cn('font-semibold', miss && 'text-fg-3')}>{rank}</span>
            {moved && <Moved by={candidate.before - rank} />}
          </span>
          <span className="min-w-0 flex-1">
            <span className="font-medium text-rag tabular-nums [overflow-wrap:anywhere]">
              {placeText(hit)}
            </span>
            {hit.heading && <span className="text-fg-2"> {hit.heading}</span>}
          </span>
          {hit.weak && <WeakBadge />}
          <span className="shrink-0 font-semibold tabular-nums">{points(score)}</span>
        </span>
        <span className="mt-1 flex flex-wrap items-center gap-x-3 gap-y-0.5 ps-11 text-fg-3 text-meta tabular-nums">
          <Legs candidate={candidate} />
        </span>
        {hit.weak && <span className="ms-11 block text-small text-warn">{t('weakHint')}</span>}
        {(open || !hit.weak) && (
          <span
            className={cn(
              'mt-0.5 ms-11 text-fg-2 text-small [overflow-wrap:anywhere]',
              open ? 'line-clamp-6' : 'line-clamp-2',
            )}
          >
            <Marked text={open ? hit.text : fromFirstTerm(hit.text, terms)} terms={terms} />
          </span>
        )}
        {miss && (
          <span className="ms-11 block text-fg-3 text-meta">
            {missWords({ ...hit, score }, miss.reason, detail, t)} · {t('behind', { n: points(miss.behind) })}
          </span>
        )}
      </button>
      {open && (
        <div className="space-y-2 px-2 pt-1 pb-2 sm:ps-13">
          {hit.how && (
            <Why how={{ ...hit.how, rank, vector_weight: weight }} score={score} foreign={foreign} />
          )}
          <div className="flex flex-wrap gap-1.5">
            {onShow && (
              <Button size="small" onClick={onShow}>
                <PanelRight size={13} aria-hidden />
                {t('showInFile')}
              </Button>
            )}
            <Button size="small" onClick={onEdit}>
              <FilePen size={13} aria-hidden />
              {t('editFile')}
            </Button>
            {children}
          </div>
        </div>
      )}
    </li>
  )
}

/** How far a passage moved compared with the server's order. */
function Moved({ by }: { by: number }) {
  const t = useT()
  if (by === 0) return null
  const Icon = by > 0 ? ArrowUp : ArrowDown
  return (
    <span className={cn('flex items-center text-meta', by > 0 ? 'text-ok' : 'text-warn')}>
      <Icon size={10} aria-hidden />
      <span aria-hidden>{Math.abs(by)}</span>
      <span className="sr-only">{t(by > 0 ? 'movedUp' : 'movedDown', { n: Math.abs(by) })}</span>
    </span>
  )
}

/** The contribution of each retriever: the length of the bar is the score, in one colour for each. */
function Legs({ candidate: { hit, score, weight } }: { candidate: Candidate }) {
  const t = useT()
  const { lexical, vector } = hit.how ?? {}
  const meaning = vector ? weight * vector.share : 0
  return (
    <>
      <Bar
        className="w-32"
        parts={[
          { share: score - meaning, className: 'bg-accent' },
          { share: meaning, className: 'bg-rag' },
        ]}
      />
      <span>
        <span className="text-accent">{t('legWords')}</span> {points(lexical?.share)}
        {lexical && ` #${lexical.rank}`}
      </span>
      <span>
        <span className="text-rag">{t('legMeaning')}</span> {points(vector?.share)}
        {vector && ` #${vector.rank}`}
      </span>
    </>
  )
}
