import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { readFile } from '@/api/endpoints'
import { bytesAddress } from '@/features/editor/bytes'
import { useT } from '@/lib/i18n'
import { FileRef, type ProjectRoot } from '@/lib/roots'
import { splitNote } from './frontMatter'
import { NoteLink } from './NoteLink'
import { NoteView } from './NoteView'
import { isNote } from './names'
import { PICTURE, partOf } from './text'

/** Notes in notes are shown this deep. */
const DEEPEST = 3
const SIZE = /^(\d{1,4})(?:x(\d{1,4}))?$/

interface Props {
  root: ProjectRoot
  /** The note with the embed. */
  path: string
  target: string
  place: string
  label: string
  /** The file that is embedded; null if there is none, undefined until that is known. */
  file: string | null | undefined
  within: readonly string[]
}

/** What `![[file]]` shows: a picture, another note or a part of it, or a link to any other file. */
export function Embed({ root, path, target, place, label, file, within }: Props) {
  const t = useT()
  const link = (
    <NoteLink root={root} file={file} place={place} name={target}>
      {label || [target, place].filter(Boolean).join(' › ')}
    </NoteLink>
  )
  if (!file) return link
  if (PICTURE.test(file)) return <Picture file={FileRef.of(root, file)} words={label || target} />
  if (!isNote(file)) return link
  const chain = [...within, path]
  // A part of the same note is no cycle; the whole of it is.
  const isCycle = chain.includes(file) && (place === '' || within.length > 0)
  if (isCycle || chain.length > DEEPEST) {
    return (
      <p className="rounded-md border px-3 py-1.5 text-fg-3 text-small">
        {link} · {t(isCycle ? 'embedCycle' : 'embedTooDeep')}
      </p>
    )
  }
  return <EmbeddedNote file={FileRef.of(root, file)} root={root} place={place} within={chain} link={link} />
}

interface NoteProps {
  file: FileRef
  root: ProjectRoot
  place: string
  within: readonly string[]
  link: React.ReactNode
}

function EmbeddedNote({ file, root, place, within, link }: NoteProps) {
  const t = useT()
  const { data, error } = useQuery({
    queryKey: ['embedded', `${file}`],
    queryFn: () => readFile(`${file}`),
    staleTime: 5_000,
    retry: false,
  })
  const content = data?.content
  const body = useMemo(() => (content === undefined ? undefined : splitNote(content).body), [content])
  const part = useMemo(() => (body !== undefined && place !== '' ? partOf(body, place) : null), [body, place])
  const shown = part?.text ?? (place === '' ? body : undefined)
  return (
    <div
      role="group"
      aria-label={t('embeddedNote', { name: file.path })}
      className="border-accent/50 border-s-2 ps-3"
    >
      <p className="text-meta">{link}</p>
      {shown !== undefined ? (
        <NoteView root={root} path={file.path} text={shown} within={within} />
      ) : (
        <p className="text-fg-3 text-small">
          {error ? t('embedFailed') : data ? t('embedNoPart') : t('loading')}
        </p>
      )}
    </div>
  )
}

/** A picture of the project. The words may be its width in pixels, as in `![[leaf.png|200]]`. */
export function Picture({ file, words }: { file: FileRef; words: string }) {
  const t = useT()
  const [broken, setBroken] = useState(false)
  const last = words.split('|').at(-1)?.trim() ?? ''
  const size = SIZE.exec(last)
  const named = (size ? words.split('|').slice(0, -1).join('|') : words).trim()
  const alt = named || t('pictureOf', { path: file.path })
  if (broken) return <span className="text-fg-3">🖼 {alt}</span>
  return (
    <img
      src={bytesAddress(file)}
      alt={alt}
      loading="lazy"
      width={size ? Number(size[1]) : undefined}
      height={size?.[2] ? Number(size[2]) : undefined}
      onError={() => setBroken(true)}
      className="inline-block max-w-full rounded-md"
    />
  )
}
