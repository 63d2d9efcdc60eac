import { CodeBlock } from '@/components/markdown/CodeBlock'
import { useT } from '@/lib/i18n'
import type { ProjectRoot } from '@/lib/roots'
import type { Property } from './frontMatter'
import { searchTag } from './search'

interface Props {
  root: ProjectRoot
  /** Null if the front matter is not YAML. */
  properties: readonly Property[] | null
  yaml: string
}

/** The front matter of a note as a small table; as it is written if it cannot be read. */
export function Properties({ root, properties, yaml }: Props) {
  const t = useT()
  if (properties === null) return <CodeBlock code={yaml} language="yaml" />
  if (properties.length === 0) return null
  return (
    <table aria-label={t('noteProperties')} className="mb-3 w-full border-collapse text-small">
      <tbody>
        {properties.map(({ name, values, tags }, i) => (
          <tr key={i} className="border-line border-b align-top">
            <th
              scope="row"
              className="w-28 py-1 pe-3 text-start font-normal text-fg-3 [overflow-wrap:anywhere]"
            >
              {name}
            </th>
            <td className="py-1 [overflow-wrap:anywhere]">
              {tags
                ? values.map(tag => (
                    <button
                      key={tag}
                      type="button"
                      title={t('searchTag')}
                      className="notetag me-1.5"
                      onClick={() => searchTag(root, tag)}
                    >
                      #{tag}
                    </button>
                  ))
                : values.join(', ')}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
