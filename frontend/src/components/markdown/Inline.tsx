import type { Token, Tokens } from 'marked'
import { type ReactNode, useContext } from 'react'
import { Cited } from '@/components/Cited'
import { PassageLink } from '@/components/PassageLink'
import { placeOf } from '@/lib/citation'
import type { DeferredToken } from '@/lib/markdown/lex'
import { useDeferredTokens } from '@/lib/markdown/lexQueue'
import type { MathToken } from '@/lib/mathTokens'
import { Checkbox } from './Checkbox'
import { decoded } from './entities'
import { Formula } from './Formula'
import { targetOf } from './link'
import { Parts } from './parts'

/** The context of inline tokens: in a block that still grows; inside a link, which cannot contain another link. */
export interface Around {
  live?: boolean
  linked?: boolean
}

function Link({ href: written, children }: { href: string; children: ReactNode }) {
  const href = decoded(written)
  const own = useContext(Parts)?.link(href, children)
  if (own !== undefined) return own
  const target = targetOf(href)
  switch (target.kind) {
    case 'web':
      return (
        <a href={target.href} target="_blank" rel="noreferrer noopener">
          {children}
        </a>
      )
    case 'file':
      return <PassageLink place={target.place}>{children}</PassageLink>
    case 'none':
      return <span title={href}>{children}</span>
  }
}

/** A picture from another server would tell that server what was read here, so it becomes a link. */
function Picture({ href, words }: { href: string; words: string }) {
  const own = useContext(Parts)?.image(decoded(href), words)
  if (own !== undefined) return own
  return <Link href={href}>🖼 {words || decoded(href)}</Link>
}

/** Shows the source text until it is lexed, or permanently if that takes too long. */
function DeferredInline({ token, around }: { token: DeferredToken; around: Around }) {
  const tokens = useDeferredTokens(token, around.live ?? false)
  return tokens ? inline(tokens, around) : token.raw
}

/** The text of tokens without markup: the description of a picture has none. */
const wordsOf = (tokens: readonly Token[]): string =>
  tokens
    .map(token => {
      const { type, text = token.raw, tokens } = token as { type: string; text?: string; tokens?: Token[] }
      if (tokens) return wordsOf(tokens)
      return type === 'text' || type === 'image' ? decoded(text) : text
    })
    .join('')

/** A link cannot contain another link. */
const cited = (text: string, { live, linked }: Around, key?: number): ReactNode =>
  linked ? text : <Cited key={key} text={text} growing={live} />

/** Inline code. If all of it is one path, the path may contain spaces. */
function code(text: string, around: Around): ReactNode {
  const place = around.linked ? null : placeOf(text)
  if (!place?.lines) return cited(text, { ...around, live: false })
  return (
    <PassageLink place={place} className="cite">
      {text}
    </PassageLink>
  )
}

function one(token: Token, key: number, around: Around): ReactNode {
  switch (token.type) {
    case 'text': {
      const { tokens, text } = token as Tokens.Text
      return tokens ? inline(tokens, around) : cited(decoded(text), around, key)
    }
    case 'escape':
      return (token as Tokens.Escape).text
    case 'strong':
      return <strong key={key}>{inline((token as Tokens.Strong).tokens, around)}</strong>
    case 'em':
      return <em key={key}>{inline((token as Tokens.Em).tokens, around)}</em>
    case 'del':
      return <del key={key}>{inline((token as Tokens.Del).tokens, around)}</del>
    case 'codespan':
      return <code key={key}>{code((token as Tokens.Codespan).text, around)}</code>
    case 'math':
      return <Formula key={key} tex={(token as MathToken).tex} raw={token.raw} />
    case 'checkbox':
      return <Checkbox key={key} checked={(token as Tokens.Checkbox).checked} />
    case 'br':
      return <br key={key} />
    case 'link': {
      const { href, tokens } = token as Tokens.Link
      return (
        <Link key={key} href={href}>
          {inline(tokens, { ...around, linked: true })}
        </Link>
      )
    }
    case 'image': {
      const { href, text, tokens } = token as Tokens.Image
      return <Picture key={key} href={href} words={tokens ? wordsOf(tokens) : decoded(text)} />
    }
    case 'later':
      return <DeferredInline key={key} token={token as DeferredToken} around={around} />
    default:
      return token.raw
  }
}

export const inline = (tokens: Token[] | undefined, around: Around): ReactNode =>
  tokens?.map((token, i) => one(token, i, around))
