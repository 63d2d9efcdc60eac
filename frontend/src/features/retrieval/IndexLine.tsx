import { SlidersHorizontal } from 'lucide-react'
import { Link } from 'wouter'
import type { EmbeddingModel, FolderStatus } from '@/api/types'
import { Disclosure } from '@/components/ui/Disclosure'
import { count } from '@/lib/format'
import { useSay, useT } from '@/lib/i18n'
import type { SearchFolder } from '@/lib/roots'
import { unreadableIn } from '@/lib/server'
import { useFold } from '@/stores/folds'
import { showMiddle } from '@/stores/ui'
import { playgroundHref } from './address'
import { EmbedderNote, isWithoutMeaning } from './EmbedderNote'
import { IndexProgress } from './IndexProgress'

interface Props {
  folder: SearchFolder
  status: FolderStatus
  model: EmbeddingModel
}

/** Where a folder is searched, if not on the server itself. */
const PLACES = { here: null, moving_to_database: 'indexMoving', database: 'indexInDatabase' } as const

/** One line about a folder's index, with its progress and the files that cannot be read. */
export default function IndexLine({ folder, status, model }: Props) {
  const t = useT()
  const { files, chunks, embedded, state } = status
  const parts = [t('indexFiles', { n: files }), t('indexChunks', { n: chunks })]
  if (model.state === 'ready') parts.push(t('indexVectors', { done: embedded, total: chunks }))
  if (isWithoutMeaning(model)) parts.push(t('indexWordsOnly'))
  if (model.id) parts.push(model.id)
  const place = PLACES[status.searched_in]
  if (place) parts.push(t(place))
  const words = state === 'not_built' ? t('indexNotBuilt') : parts.join(' · ')
  const name = t('tryFolder', { folder: t(folder) })
  return (
    <div className="px-3 pb-1.5 text-fg-3 text-meta">
      <p className="flex items-center gap-2">
        <span className="min-w-0 flex-1 truncate tabular-nums" title={model.detail ?? words}>
          {words}
        </span>
        <Link
          href={playgroundHref({ folder })}
          onClick={showMiddle}
          aria-label={name}
          title={name}
          className="grid size-6 shrink-0 place-items-center rounded-md text-fg-2 hover:bg-hover hover:text-fg pointer-coarse:size-11"
        >
          <SlidersHorizontal size={13} aria-hidden />
        </Link>
      </p>
      <IndexProgress status={status} />
      {isWithoutMeaning(model) && <WordsOnly model={model} />}
      <LeftOut count={status.left_out} />
      <Unreadable files={status.unreadable} folder={folder} />
    </div>
  )
}

function WordsOnly({ model }: { model: EmbeddingModel }) {
  const t = useT()
  const [open, setOpen] = useFold('words-only', model.state === 'failed')
  return (
    <Disclosure
      open={open}
      onToggle={setOpen}
      summaryClass="w-fit rounded-md py-0.5 text-warn"
      summary={t('searchWordsOnly')}
    >
      <p className="pb-1 text-fg-2 [overflow-wrap:anywhere]">
        <EmbedderNote model={model} />
      </p>
    </Disclosure>
  )
}

/** Maximum up to which the server counts. */
const MOST_COUNTED = 100_000

function LeftOut({ count: n }: { count: number }) {
  const t = useT()
  if (n === 0) return null
  const words = n < MOST_COUNTED ? n : { n, text: `${count(MOST_COUNTED)}+` }
  return <p className="py-0.5 text-warn">{t('notIndexed', { n: words })}</p>
}

function Unreadable({ files, folder }: { files: FolderStatus['unreadable']; folder: string }) {
  const t = useT()
  const say = useSay()
  const [open, setOpen] = useFold(`unreadable:${folder}`, false)
  if (files.length === 0) return null
  return (
    <Disclosure
      open={open}
      onToggle={setOpen}
      summaryClass="w-fit rounded-md py-0.5 text-warn"
      summary={t('unreadable', { n: files.length })}
    >
      <ul className="scroll max-h-32 space-y-0.5 pb-1">
        {files.map(file => (
          <li key={file.path} className="[overflow-wrap:anywhere]">
            <span className="font-mono text-fg-2">{file.path}</span> —{' '}
            {unreadableIn(say, file) ?? file.reason}
          </li>
        ))}
      </ul>
    </Disclosure>
  )
}
