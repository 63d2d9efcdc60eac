import type { Token, Tokens } from 'marked'
import type { ReactNode } from 'react'
import { useT } from '@/lib/i18n'
import { CodeBlock } from './CodeBlock'
import { inline } from './Inline'

interface Props {
  token: Token
  /** The block still grows: no highlighting yet. */
  live: boolean
}

const blocks = (tokens: Token[], live: boolean): ReactNode =>
  tokens.map((token, i) => <Block key={i} token={token} live={live} />)

export function Block({ token, live }: Props): ReactNode {
  switch (token.type) {
    case 'heading':
      return <Heading token={token as Tokens.Heading} />
    case 'paragraph':
      return <p>{inline((token as Tokens.Paragraph).tokens)}</p>
    case 'text': {
      const { tokens, text } = token as Tokens.Text
      return <span>{tokens ? inline(tokens) : text}</span>
    }
    case 'code': {
      const { text, lang } = token as Tokens.Code
      return <CodeBlock code={text} language={lang?.split(/\s/)[0] ?? ''} live={live} />
    }
    case 'blockquote':
      return <blockquote>{blocks((token as Tokens.Blockquote).tokens, live)}</blockquote>
    case 'list':
      return <List token={token as Tokens.List} live={live} />
    case 'table':
      return <Table token={token as Tokens.Table} />
    case 'hr':
      return <hr />
    case 'space':
    case 'def':
    case 'checkbox':
      return null
    // Raw HTML and whatever else comes is shown as the text it is.
    default:
      return <p>{token.raw}</p>
  }
}

/** The page's own headings are h1 and h2; those of an answer start below. */
function Heading({ token }: { token: Tokens.Heading }) {
  const Tag = `h${Math.min(6, token.depth + 2)}` as 'h3' | 'h4' | 'h5' | 'h6'
  return <Tag>{inline(token.tokens)}</Tag>
}

function List({ token, live }: { token: Tokens.List; live: boolean }) {
  const t = useT()
  const items = token.items.map((item, i) => (
    <li key={i} className={item.task ? '-ms-5 list-none' : undefined}>
      {item.task && (
        <input
          type="checkbox"
          checked={Boolean(item.checked)}
          readOnly
          disabled
          className="me-1.5"
          aria-label={t('task')}
        />
      )}
      {blocks(item.tokens, live)}
    </li>
  ))
  if (!token.ordered) return <ul>{items}</ul>
  return <ol start={typeof token.start === 'number' ? token.start : undefined}>{items}</ol>
}

function Table({ token }: { token: Tokens.Table }) {
  const align = (cell: Tokens.TableCell) => ({ textAlign: cell.align ?? undefined })
  return (
    <div className="table" tabIndex={0} role="group">
      <table>
        <thead>
          <tr>
            {token.header.map((cell, i) => (
              <th key={i} style={align(cell)}>
                {inline(cell.tokens)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {token.rows.map((row, i) => (
            <tr key={i}>
              {row.map((cell, j) => (
                <td key={j} style={align(cell)}>
                  {inline(cell.tokens)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
