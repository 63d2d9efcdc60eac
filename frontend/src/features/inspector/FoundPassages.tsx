import { Link2 } from 'lucide-react'
import { useState } from 'react'
import { useFoundPassages } from '@/api/projectQueries'
import type { FoundPassages as Found, ProjectPassage } from '@/api/types'
import { MarkedText } from '@/components/MarkedText'
import { Disclosure } from '@/components/ui/Disclosure'
import { QueryError } from '@/components/ui/QueryError'
import { Skeleton } from '@/components/ui/Skeleton'
import { excerptOf, readable } from '@/features/notes/text'
import { WeakBadge } from '@/features/retrieval/WeakBadge'
import { type Translate, useT } from '@/lib/i18n'
import '@/lib/later'
import { markWords, wordsOf } from '@/lib/needle'
import { FileRef, type ProjectRoot, projectOf } from '@/lib/roots'
import { openFile } from '@/stores/ui'
import { useTypedText } from './useTypedText'

interface Props {
  root: ProjectRoot
  text: string
}

/** The passages of the files of a project that answer a question; each opens its file at its lines. */
export default function FoundPassages({ root, text }: Props) {
  const t = useT()
  const query = useTypedText(text).trim()
  const { data, error } = useFoundPassages(projectOf(root) ?? '', query)
  if (query === '') return <p className="p-3 text-fg-3 text-small">{t('findByMeaningHint')}</p>
  if (error) return <QueryError error={error} className="p-3" />
  if (!data) return <Skeleton label={t('loading')} rows={4} />
  const words = wordsOf(data.query).filter(word => word.length > 1 && !/^(?:#|tag:)/.test(word))
  return (
    <section aria-label={t('findByMeaning')} className="scroll max-h-(--list) min-h-0 flex-1 px-2 pb-2">
      <p role="status" className="px-1 py-1 text-fg-3 text-small">
        {[
          data.results.length === 0 ? t('nothingFound') : t('foundPassages', { n: data.results.length }),
          ...indexWords(data, t),
        ].join(' · ')}
      </p>
      <ul className="space-y-1">
        {data.results.map((passage, i) => (
          <li key={`${passage.path}:${passage.lines?.[0] ?? i}`}>
            {passage.weak ? (
              <WeakPassage root={root} passage={passage} words={words} />
            ) : (
              <Passage root={root} passage={passage} words={words} />
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}

interface PassageProps {
  root: ProjectRoot
  passage: ProjectPassage
  words: readonly string[]
}

/** A passage that probably does not answer the question: one line until it is opened. */
function WeakPassage(props: PassageProps) {
  const t = useT()
  const [open, setOpen] = useState(false)
  const place = placeOf(props.passage)
  return (
    <Disclosure
      open={open}
      onToggle={setOpen}
      className="rounded-md border border-dashed"
      summaryClass="rounded-md px-1 py-1 text-small"
      summary={
        <span className="flex min-w-0 flex-1 items-baseline gap-2">
          <span className="min-w-0 truncate" title={place}>
            {place}
          </span>
          <WeakBadge />
        </span>
      }
    >
      <p className="px-1 text-small text-warn">{t('weakHint')}</p>
      <Passage {...props} />
    </Disclosure>
  )
}

function placeOf({ path, lines }: ProjectPassage): string {
  const [first, last] = lines ?? [null, null]
  return first === null ? path : `${path}:${first === last ? first : `${first}-${last}`}`
}

function Passage({ root, passage, words }: PassageProps) {
  const t = useT()
  const { path, lines, heading, title, linked_from_count: linked } = passage
  const [first, last] = lines ?? [null, null]
  const place = placeOf(passage)
  const below = heading ?? title
  return (
    <button
      type="button"
      onClick={() => openFile(FileRef.of(root, path), first === null ? null : [first, last])}
      className="w-full rounded-md px-1 py-1 text-start hover:bg-hover pointer-coarse:min-h-11"
    >
      <span className="flex items-baseline gap-2">
        <span className="min-w-0 flex-1 truncate font-semibold text-small" title={place}>
          {place}
        </span>
        {linked > 0 && (
          <span className="flex shrink-0 items-center gap-1 text-fg-3 text-meta">
            <Link2 size={12} aria-hidden />
            {t('linkedFrom', { n: linked })}
          </span>
        )}
      </span>
      {below && <span className="block truncate text-fg-3 text-meta">{readable(below)}</span>}
      <span className="line-clamp-4 whitespace-pre-line text-fg-2 text-small [overflow-wrap:anywhere]">
        <MarkedText stretches={markWords(excerptOf(passage.text, words), words)} />
      </span>
    </button>
  )
}

/** What the index does, and which files it leaves out. */
function indexWords({ index }: Found, t: Translate): string[] {
  const { state, done, total, counts } = index
  const said: string[] = []
  if (state === 'building') said.push(t('projectIndexing', { done, total }))
  if (state === 'embedding') said.push(t('projectEmbedding', { done, total }))
  const out = counts.binary + counts.too_large + counts.unreadable + counts.too_many
  if (out > 0) said.push(t('projectLeftOut', { n: out }))
  return said
}
