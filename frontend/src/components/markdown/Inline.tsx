import type { Token, Tokens } from 'marked'
import type { ReactNode } from 'react'
import { openFile } from '@/stores/ui'
import { targetOf } from './link'

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }
/** The lexer escapes what it takes for HTML; React escapes again, so this undoes the first. */
const plain = (text: string): string =>
  text.replace(/&(amp|lt|gt|quot|#39);/g, (whole, name: string) => ENTITIES[name] ?? whole)

function Link({ href, children }: { href: string; children: ReactNode }) {
  const target = targetOf(href)
  switch (target.kind) {
    case 'web':
      return (
        <a href={target.href} target="_blank" rel="noreferrer noopener">
          {children}
        </a>
      )
    case 'file':
      return (
        <button type="button" className="link" onClick={() => openFile(target.path)}>
          {children}
        </button>
      )
    case 'none':
      return <span title={href}>{children}</span>
  }
}

function one(token: Token, key: number): ReactNode {
  switch (token.type) {
    case 'text': {
      const { tokens, text } = token as Tokens.Text
      return tokens ? <Inline key={key} tokens={tokens} /> : plain(text)
    }
    case 'escape':
      return (token as Tokens.Escape).text
    case 'strong':
      return <strong key={key}>{inline((token as Tokens.Strong).tokens)}</strong>
    case 'em':
      return <em key={key}>{inline((token as Tokens.Em).tokens)}</em>
    case 'del':
      return <del key={key}>{inline((token as Tokens.Del).tokens)}</del>
    case 'codespan':
      return <code key={key}>{plain((token as Tokens.Codespan).text)}</code>
    case 'br':
      return <br key={key} />
    case 'link': {
      const { href, tokens } = token as Tokens.Link
      return (
        <Link key={key} href={href}>
          {inline(tokens)}
        </Link>
      )
    }
    // A picture from elsewhere would tell its server what was read here: it becomes a link.
    case 'image': {
      const { href, text } = token as Tokens.Image
      return (
        <Link key={key} href={href}>
          🖼 {text || href}
        </Link>
      )
    }
    default:
      return token.raw
  }
}

export const inline = (tokens: Token[] | undefined): ReactNode => tokens?.map(one)

function Inline({ tokens }: { tokens: Token[] }) {
  return <>{inline(tokens)}</>
}
