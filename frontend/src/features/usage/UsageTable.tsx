import type { UsageOf } from '@/api/types'
import { count } from '@/lib/format'
import { useT } from '@/lib/i18n'

interface Props {
  caption: string
  /** The heading of the first column. */
  first: string
  rows: readonly UsageOf[]
  total: UsageOf | null
}

export function UsageTable({ caption, first, rows, total }: Props) {
  const t = useT()
  const heads = [t('usageWorks'), t('usageInput'), t('usageCached'), t('usageOutput')]
  return (
    <div className="overflow-x-auto">
      <table className="w-full text-[12.5px] tabular-nums">
        <caption className="pb-1 text-start text-fg-3 text-meta">{caption}</caption>
        <thead className="text-fg-3 text-meta">
          <tr>
            <th scope="col" className="py-1 pe-3 max-[400px]:pe-1.5 text-start font-normal">
              {first}
            </th>
            {heads.map(head => (
              <th key={head} scope="col" className="py-1 ps-3 max-[400px]:ps-1.5 text-end font-normal">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(row => (
            <Line key={row.name} name={row.name || t('usageUnnamed')} row={row} />
          ))}
        </tbody>
        {total && (
          <tfoot className="font-semibold">
            <Line name={t('usageTotal')} row={total} />
          </tfoot>
        )}
      </table>
    </div>
  )
}

function Line({ name, row: { works, usage } }: { name: string; row: UsageOf }) {
  const cells = [works, usage.input_tokens, usage.cached_tokens ?? 0, usage.output_tokens]
  return (
    <tr className="border-t">
      <th
        scope="row"
        className="py-1 pe-3 max-[400px]:pe-1.5 text-start font-[inherit] min-w-12 [overflow-wrap:anywhere]"
      >
        {name}
      </th>
      {cells.map((value, i) => (
        <td key={i} className="py-1 ps-3 max-[400px]:ps-1.5 text-end">
          {count(value)}
        </td>
      ))}
    </tr>
  )
}
