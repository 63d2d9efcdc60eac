import { useMemo } from 'react'
import { useFoundInProject } from '@/api/projectQueries'
import type { FoundInProject as FoundLines } from '@/api/types'
import { MarkedText } from '@/components/MarkedText'
import { QueryError } from '@/components/ui/QueryError'
import { Skeleton } from '@/components/ui/Skeleton'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import { FileRef, type ProjectRoot, projectOf } from '@/lib/roots'
import { openFile } from '@/stores/ui'
import { useTypedText } from './useTypedText'

interface Props {
  root: ProjectRoot
  text: string
}

/** The lines of the files of a project that contain a text; each opens its file at that line. */
export default function FoundInProject({ root, text }: Props) {
  const t = useT()
  const query = useTypedText(text)
  const { data, error } = useFoundInProject(projectOf(root) ?? '', query)
  const files = useMemo(() => byFile(data?.results ?? []), [data])
  if (query === '') return <p className="p-3 text-fg-3 text-small">{t('findInProjectHint')}</p>
  if (error) return <QueryError error={error} className="p-3" />
  if (!data) return <Skeleton label={t('loading')} rows={4} />
  const n = data.results.length
  return (
    <section aria-label={t('findInFiles')} className="scroll max-h-(--list) min-h-0 flex-1 px-2 pb-2">
      <p role="status" className="px-1 py-1 text-fg-3 text-small">
        {n === 0 ? t('nothingFound') : t('foundLines', { n, files: files.size })}
        {data.more && ` ${t('foundInProjectMore')}`}
      </p>
      <ul className="space-y-2">
        {[...files].map(([path, lines]) => (
          <li key={path}>
            <p className="truncate px-1 font-semibold text-small" title={path}>
              {path}
            </p>
            <ul>
              {lines.map(({ line, text }) => (
                <li key={line}>
                  <button
                    type="button"
                    onClick={() => openFile(FileRef.of(root, path), [line, line])}
                    className="flex w-full gap-2 rounded-md px-1 py-0.5 text-start text-fg-2 text-small hover:bg-hover pointer-coarse:min-h-11"
                  >
                    <span className="w-9 shrink-0 text-end text-fg-3 tabular-nums">{line}</span>
                    <span className="min-w-0 flex-1 [overflow-wrap:anywhere]">
                      <MarkedText stretches={stretchesOf(text, data.query)} />
                    </span>
                  </button>
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ul>
    </section>
  )
}

type Line = FoundLines['results'][number]

function byFile(lines: readonly Line[]): Map<string, Line[]> {
  const files = new Map<string, Line[]>()
  for (const line of lines) files.set(line.path, [...(files.get(line.path) ?? []), line])
  return files
}

/** The text of a line, divided at what was searched for, whatever its case. */
function stretchesOf(text: string, sought: string): { text: string; marked: boolean }[] {
  const stretches: { text: string; marked: boolean }[] = []
  const [lower, wanted] = [text.toLowerCase(), sought.toLowerCase()]
  // Letters whose lower case is longer would shift the marks.
  if (lower.length !== text.length) return [{ text, marked: false }]
  let done = 0
  for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, done)) {
    if (at > done) stretches.push({ text: text.slice(done, at), marked: false })
    stretches.push({ text: text.slice(at, at + wanted.length), marked: true })
    done = at + wanted.length
  }
  if (done < text.length) stretches.push({ text: text.slice(done), marked: false })
  return stretches
}
