import type { Token, Tokens } from 'marked'
import { type ReactNode, useMemo } from 'react'
import { Markdown } from '@/components/markdown/Markdown'
import { type MarkdownParts, Parts } from '@/components/markdown/parts'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import { FileRef, type ProjectRoot } from '@/lib/roots'
import { Callout, calloutOf } from './Callout'
import { Embed, Picture } from './Embed'
import { splitNote } from './frontMatter'
import { NoteLink } from './NoteLink'
import { isNote } from './names'
import { type Notes, useNotes } from './notesOf'
import { Properties } from './Properties'
import { searchTag } from './search'
import { decode, EMBED, LINK, linked, readAddress, TAG } from './text'

interface Props {
  root: ProjectRoot
  /** Path of the note, relative to the root of the project. */
  path: string
  text: string
  /** The notes that this one is embedded in, outermost first. */
  within?: readonly string[]
}

const NONE: readonly string[] = []
/** Maximum number of notes that a note shows, and that each of these shows in turn: they multiply. */
const MOST_EMBEDS = 50
const MOST_WITHIN = 5

/** A note as people read it: with its properties, links to other notes, embeds, tags and callouts. */
export function NoteView({ root, path, text, within = NONE }: Props) {
  const { properties, yaml, body } = useMemo(() => splitNote(text), [text])
  const embeds = within.length === 0 ? MOST_EMBEDS : MOST_WITHIN
  const markdown = useMemo(() => linked(body, embeds), [body, embeds])
  const notes = useNotes(root).data
  const parts = useMemo(() => partsOf({ root, path, notes, within }), [root, path, notes, within])
  return (
    <Parts value={parts}>
      {within.length === 0 && yaml !== null && <Properties root={root} properties={properties} yaml={yaml} />}
      <Markdown text={markdown} />
    </Parts>
  )
}

/** What a link means: null if there is no such file, undefined until that is known. */
interface Target {
  file: string | null | undefined
  /** A heading or block in it. */
  place: string
}

interface Around {
  root: ProjectRoot
  path: string
  /** Undefined until they are loaded: links look resolved until then. */
  notes: Notes | undefined
  within: readonly string[]
}

/** The parts of a note that are shown in their own way. */
function partsOf({ root, path, notes, within }: Around): MarkdownParts {
  const resolve = (target: string): string | null | undefined => notes?.names.resolve(target, path)

  /** A link of Markdown to a file of the project, which may be missing; null for any other. */
  const relative = (href: string): (Target & { name: string }) | null => {
    if (/^[a-z][a-z\d+.-]*:|^\/\/|^#|^$/i.test(href)) return null
    const [address = '', place = ''] = href.split('#')
    const name = decode(address.replace(/\?.*$/, ''))
    return { file: resolve(name), place: decode(place), name }
  }

  const embed = (href: string): ReactNode | undefined => {
    if (!href.startsWith(EMBED)) return undefined
    const read = readAddress(href)
    if (!read) return undefined
    return <Embed {...read} root={root} path={path} file={resolve(read.target)} within={within} />
  }

  return {
    link: (href, children) => {
      if (href.startsWith(TAG)) {
        const tag = decode(href.slice(TAG.length))
        return <TagLink onClick={() => searchTag(root, tag)}>{children}</TagLink>
      }
      const read = href.startsWith(LINK) ? readAddress(href) : null
      if (read) {
        const file = resolve(read.target)
        return (
          <NoteLink root={root} file={file} place={read.place} name={read.target}>
            {children}
          </NoteLink>
        )
      }
      const found = relative(href)
      if (!found) return undefined
      return (
        <NoteLink root={root} file={found.file} place={found.place} name={found.name}>
          {children}
        </NoteLink>
      )
    },
    image: (href, words) => {
      const shown = embed(href)
      if (shown !== undefined) return shown
      const found = relative(href)
      if (!found?.file || isNote(found.file)) return undefined
      return <Picture file={FileRef.of(root, found.file)} words={words} />
    },
    block: (token: Token) => {
      if (token.type === 'blockquote') {
        const callout = calloutOf((token as Tokens.Blockquote).text)
        return callout ? <Callout {...callout} /> : undefined
      }
      // An embed alone is a block, which no paragraph may contain.
      const [only, more] = token.type === 'paragraph' ? ((token as Tokens.Paragraph).tokens ?? []) : []
      return only?.type === 'image' && !more ? embed((only as Tokens.Image).href) : undefined
    },
  }
}

function TagLink({ onClick, children }: { onClick: () => void; children: ReactNode }) {
  const t = useT()
  return (
    <button type="button" className="notetag" title={t('searchTag')} onClick={onClick}>
      {children}
    </button>
  )
}
