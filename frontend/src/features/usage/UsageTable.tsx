import type { TokenSum } from '@/api/types'
import { count } from '@/lib/format'
import { useLang, useT } from '@/lib/i18n'
import { costOf } from './words'

interface Props {
  caption: string
  /** The heading of the first column. */
  first: string
  rows: readonly { key: string; name: string; sum: TokenSum }[]
  total: TokenSum
}

export function UsageTable({ caption, first, rows, total }: Props) {
  const t = useT()
  const heads = [
    t('usageWorks'),
    t('usageInput'),
    t('usageCached'),
    t('usageOutput'),
    t('usageThinking'),
    t('usageCost'),
  ]
  return (
    // A table that is too wide scrolls by the arrow keys.
    <div className="overflow-x-auto rounded-sm" tabIndex={0} role="group" aria-label={caption}>
      <table className="w-full text-[12.5px] tabular-nums">
        <caption className="sr-only">{caption}</caption>
        <thead className="text-fg-3 text-meta">
          <tr>
            <th scope="col" className="py-1 pe-3 text-start font-normal">
              {first}
            </th>
            {heads.map(head => (
              <th key={head} scope="col" className="whitespace-nowrap py-1 ps-3 text-end font-normal">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, name, sum }) => (
            <Line key={key} name={name} sum={sum} />
          ))}
        </tbody>
        <tfoot className="font-semibold">
          <Line name={t('usageTotal')} sum={total} />
        </tfoot>
      </table>
    </div>
  )
}

function Line({ name, sum }: { name: string; sum: TokenSum }) {
  const t = useT()
  const lang = useLang()
  const tokens = [sum.works, sum.prompt_tokens, sum.cached_tokens, sum.completion_tokens, sum.thinking_tokens]
  return (
    <tr className="border-t">
      <th
        scope="row"
        className="min-w-24 py-1 pe-3 text-start [font-weight:inherit] [overflow-wrap:anywhere]"
      >
        {name}
      </th>
      {tokens.map((value, i) => (
        <td key={i} className="py-1 ps-3 text-end">
          {count(value)}
        </td>
      ))}
      <td className="whitespace-nowrap py-1 ps-3 text-end">{costOf(sum, t, lang)}</td>
    </tr>
  )
}
