import { useEffect, useMemo, useRef, useState } from 'react'
import { keys, refresh, useIndex, useSearchAnswer } from '@/api/queries'
import { QueryError } from '@/components/ui/QueryError'
import { Skeleton } from '@/components/ui/Skeleton'
import { openPassage } from '@/features/editor/passage'
import type { Trial } from '@/features/retrieval/address'
import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'
import { isSearchFolder } from '@/lib/roots'
import { useAsked } from '@/lib/useAsked'
import { useWidth } from '@/lib/useMedia'
import { announce } from '@/stores/announcer'
import { showChunks, useUi } from '@/stores/ui'
import { AddTest } from './AddTest'
import { Asked } from './Asked'
import { QueryBox } from './QueryBox'
import { Results } from './Results'
import { type Candidate, rerank } from './rerank'
import { Notice } from './states'
import { Weigh } from './Weigh'

interface Props {
  trial: Trial
  onChange: (patch: Partial<Trial>) => void
  /** Number of files in the folder; null while unknown. */
  files: number | null
}

const NONE: Candidate[] = []

export function SearchTab({ trial, onChange, files }: Props) {
  const t = useT()
  const list = useRef<HTMLOListElement>(null)
  const [composing, setComposing] = useState(false)
  const [selected, setSelected] = useState<string | null>(null)
  const [asked, askNow] = useAsked(trial.query, composing)
  const answer = useSearchAnswer(trial.folder, asked, trial.k)
  const search = asked === '' ? undefined : answer.data
  const folder = search && isSearchFolder(search.folder) ? search.folder : null
  const weight = trial.weight ?? search?.weights.vector ?? 0
  const ranked = useMemo(() => (search ? rerank(search, weight, trial.k) : NONE), [search, weight, trial.k])
  const current = ranked.find(candidate => candidate.key === selected) ?? ranked[0]
  const hit = current?.hit
  const width = useWidth()
  const beside = useUi(s => width === 'wide' && s.rightOpen && s.beside === 'chunks')
  const terms = useMemo(() => search?.terms.map(term => term.term) ?? [], [search])
  useEffect(() => {
    const passage = hit && {
      path: hit.source,
      lines: hit.lines ?? null,
      range: hit.range ?? null,
      terms,
    }
    useUi.setState({ passage: passage ?? null })
  }, [hit, terms])

  // The first search opens the index and the model, and no notice reports that.
  const index = useIndex().data?.folders.find(folder => folder.folder === search?.folder)
  const { done, total } = search?.embedded ?? {}
  const behind = search && index && (index.chunks !== total || index.embedded !== done)
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each new figure, whatever the answer is
  useEffect(() => {
    if (behind) refresh(keys.index)
  }, [behind, done, total])

  const found = answer.isPlaceholderData ? null : (search?.hits.length ?? null)
  useEffect(() => {
    if (found !== null) announce(found === 0 ? t('nothingMatches') : t('retrieved', { n: found }))
  }, [found, t])

  return (
    <div className="flex min-h-0 flex-1 flex-col max-md:scroll">
      <div className="shrink-0 space-y-2 border-b px-3 py-2.5">
        <QueryBox
          query={trial.query}
          onQuery={query => onChange({ query })}
          onSubmit={askNow}
          onComposing={setComposing}
          onDown={() => list.current?.querySelector<HTMLElement>('[data-row] button')?.focus()}
        />
        {search && <Weigh search={search} trial={trial} onChange={onChange} />}
        {search && <Asked search={search} shown={ranked.length} />}
      </div>
      <div
        aria-busy={answer.isFetching}
        className={cn('md:scroll md:min-h-0 md:flex-1', answer.isPlaceholderData && 'opacity-60')}
      >
        {asked === '' && <Notice>{t(files === 0 ? 'folderEmpty' : 'askSomething')}</Notice>}
        {answer.error && asked !== '' && (
          <QueryError error={answer.error} onRetry={() => void answer.refetch()} />
        )}
        {!search && !answer.error && asked !== '' && <Skeleton label={t('loading')} rows={6} />}
        {search && ranked.length === 0 && (
          <Notice>{t(files === 0 ? 'folderEmpty' : 'nothingMatches')}</Notice>
        )}
        {search && ranked.length > 0 && (
          <Results
            ref={list}
            ranked={ranked}
            weights={search.weights}
            moved={weight !== search.weights.vector}
            terms={terms}
            current={current?.key ?? null}
            picked={selected}
            onSelect={setSelected}
            onShow={beside ? null : showChunks}
            onEdit={found => void openPassage({ path: found.source, lines: found.lines ?? null })}
            actionOf={found => folder && <AddTest query={asked} folder={folder} hit={found} />}
            details={new Map(search.near_misses.map(miss => [miss.hit, miss.detail]))}
          />
        )}
      </div>
    </div>
  )
}
