import { ChevronRight, Info, Lightbulb, ListTodo, type LucideIcon, Quote, TriangleAlert } from 'lucide-react'
import { Markdown } from '@/components/markdown/Markdown'
import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'

interface Written {
  kind: string
  /** Closed at first, open at first, or without a switch. */
  fold: '-' | '+' | ''
  /** Markdown; empty for the name of the kind. */
  title: string
  body: string
}

const FIRST = /^\[!([\w-]{1,40})\]([+-]?)[ \t]*(.*)(?:\n|$)/

/** The callout that a quotation is; null if it is only a quotation. */
export function calloutOf(text: string): Written | null {
  const found = FIRST.exec(text)
  if (!found) return null
  const [first, kind = '', fold = '', title = ''] = found
  return { kind: kind.toLowerCase(), fold: fold as Written['fold'], title, body: text.slice(first.length) }
}

type Look = 'info' | 'good' | 'warn' | 'bad' | 'quiet'

const LOOKS: Readonly<Record<string, Look>> = {
  ...{ tip: 'good', hint: 'good', success: 'good', check: 'good', done: 'good', important: 'info' },
  ...{ question: 'warn', help: 'warn', faq: 'warn', warning: 'warn', caution: 'warn', attention: 'warn' },
  ...{ failure: 'bad', fail: 'bad', missing: 'bad', danger: 'bad', error: 'bad', bug: 'bad' },
  ...{ quote: 'quiet', cite: 'quiet', example: 'quiet' },
}
const ICONS: Readonly<Record<Look, LucideIcon>> = {
  ...{ info: Info, good: Lightbulb, warn: TriangleAlert, bad: TriangleAlert, quiet: Quote },
}
const COLORS: Readonly<Record<Look, string>> = {
  bad: 'border-bad-line bg-bad-soft',
  info: 'border-accent/40 bg-accent-soft',
  good: 'border-rag-line bg-rag-soft',
  warn: 'border-warn-line bg-warn-soft',
  quiet: 'border-line bg-hover',
}

/** A box with a title, as `> [!note]` begins one. */
export function Callout({ kind, fold, title, body }: Written) {
  const t = useT()
  const look: Look = Object.hasOwn(LOOKS, kind) ? (LOOKS[kind] ?? 'info') : 'info'
  const Icon = kind === 'todo' ? ListTodo : ICONS[look]
  const named = title.trim() === '' ? `${kind.charAt(0).toUpperCase()}${kind.slice(1)}` : title
  const heading = (
    <>
      <Icon size={15} aria-hidden className="mt-0.5 shrink-0" />
      <div className="min-w-0 flex-1 font-semibold">
        <Markdown text={named} />
      </div>
    </>
  )
  const className = cn('rounded-lg border px-3 py-2 text-fg', COLORS[look])
  const content = body.trim() !== '' && (
    <div className="mt-1.5">
      <Markdown text={body} />
    </div>
  )
  if (fold === '') {
    return (
      <div role="note" aria-label={t('callout', { kind })} className={className}>
        <div className="flex gap-2">{heading}</div>
        {content}
      </div>
    )
  }
  return (
    <details className={className} open={fold === '+'}>
      <summary className="flex cursor-default gap-2 pointer-coarse:min-h-11">
        {heading}
        <ChevronRight size={14} aria-hidden className="chevron mt-1 shrink-0" />
      </summary>
      {content}
    </details>
  )
}
