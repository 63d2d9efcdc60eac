import type { Token, Tokens } from 'marked'
import { type ReactNode, useContext } from 'react'
import type { DeferredToken } from '@/lib/markdown/lex'
import { useDeferredTokens } from '@/lib/markdown/lexQueue'
import type { MathToken } from '@/lib/mathTokens'
import { Checkbox } from './Checkbox'
import { CodeBlock } from './CodeBlock'
import { decoded } from './entities'
import { Formula } from './Formula'
import { inline } from './Inline'
import { Parts } from './parts'

interface Props {
  token: Token
  /** The block still grows, so it is not highlighted yet. */
  live: boolean
  /** Level in the page's outline, for a top-level heading. */
  level?: number
}

const blocks = (tokens: Token[], live: boolean): ReactNode =>
  tokens.map((token, i) => <Block key={i} token={token} live={live} />)

export function Block({ token, live, level = 0 }: Props): ReactNode {
  const own = useContext(Parts)?.block(token)
  if (own !== undefined) return own
  switch (token.type) {
    case 'heading':
      return <Heading token={token as Tokens.Heading} level={level} live={live} />
    case 'paragraph':
      return <p>{inline((token as Tokens.Paragraph).tokens, { live })}</p>
    case 'text': {
      const { tokens, text } = token as Tokens.Text
      return <span>{tokens ? inline(tokens, { live }) : text}</span>
    }
    case 'code': {
      const { text, lang } = token as Tokens.Code
      return <CodeBlock code={text} language={decoded(lang?.split(/\s/)[0] ?? '')} live={live} />
    }
    case 'blockquote':
      return <blockquote>{blocks((token as Tokens.Blockquote).tokens, live)}</blockquote>
    case 'list':
      return <List token={token as Tokens.List} live={live} />
    case 'table':
      return <Table token={token as Tokens.Table} live={live} />
    case 'math': {
      const { tex, raw, open } = token as MathToken
      return open ? <p>{raw}</p> : <Formula tex={tex} raw={raw} display />
    }
    case 'checkbox':
      return <Checkbox checked={(token as Tokens.Checkbox).checked} />
    case 'later':
      return <DeferredBlocks token={token as DeferredToken} live={live} />
    case 'hr':
      return <hr />
    case 'space':
    case 'def':
      return null
    // Raw HTML and any unknown token are shown as source text.
    default:
      return <p>{token.raw}</p>
  }
}

/** Shows the source text until it is lexed, or permanently if that takes too long. */
function DeferredBlocks({ token, live }: { token: DeferredToken; live: boolean }) {
  const tokens = useDeferredTokens(token, live)
  return tokens ? blocks(tokens, live) : <p className="whitespace-pre-wrap">{token.raw}</p>
}

/**
 * Its depth in the text determines the look, its place in the page the tag; a heading inside a list or quote has only
 * the look.
 */
function Heading({ token, level, live }: { token: Tokens.Heading; level: number; live: boolean }) {
  const Tag = level > 0 ? (`h${level}` as 'h3' | 'h4' | 'h5' | 'h6') : 'p'
  return <Tag className={`heading-${token.depth}`}>{inline(token.tokens, { live })}</Tag>
}

function List({ token, live }: { token: Tokens.List; live: boolean }) {
  const items = token.items.map((item, i) => (
    <li key={i} className={item.task ? '-ms-5 list-none' : undefined}>
      {blocks(item.tokens, live)}
    </li>
  ))
  if (!token.ordered) return <ul>{items}</ul>
  return <ol start={typeof token.start === 'number' ? token.start : undefined}>{items}</ol>
}

function Table({ token, live }: { token: Tokens.Table; live: boolean }) {
  const align = (cell: Tokens.TableCell) => ({ textAlign: cell.align ?? undefined })
  return (
    <div className="table" tabIndex={0} role="group">
      <table>
        <thead>
          <tr>
            {token.header.map((cell, i) => (
              <th key={i} style={align(cell)}>
                {inline(cell.tokens, { live })}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {token.rows.map((row, i) => (
            <tr key={i}>
              {row.map((cell, j) => (
                <td key={j} style={align(cell)}>
                  {inline(cell.tokens, { live })}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
