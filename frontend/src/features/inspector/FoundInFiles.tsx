import { useFoundText } from '@/api/queries'
import { MarkedText } from '@/components/MarkedText'
import { PassageLink } from '@/components/PassageLink'
import { QueryError } from '@/components/ui/QueryError'
import { Skeleton } from '@/components/ui/Skeleton'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import { markWords, wordsOf } from '@/lib/needle'
import type { Root } from '@/lib/roots'
import { useTypedText } from './useTypedText'

interface Props {
  root: Root
  text: string
}

/** The lines of the files of a root that contain all words; each opens its file at that line. */
export default function FoundInFiles({ root, text }: Props) {
  const t = useT()
  const query = useTypedText(text)
  const { data, error } = useFoundText(root, query.trim())
  if (query.trim() === '') return <p className="p-3 text-fg-3 text-small">{t('findInFilesHint')}</p>
  if (error) return <QueryError error={error} className="p-3" />
  if (!data) return <Skeleton label={t('loading')} rows={4} />
  const lines = data.files.reduce((sum, file) => sum + file.lines.length + file.left_out, 0)
  const words = wordsOf(query)
  return (
    <section aria-label={t('findInFiles')} className="scroll min-h-0 flex-1 px-2 pb-2">
      <p role="status" className="px-1 py-1 text-fg-3 text-small">
        {lines === 0 ? t('nothingFound') : t('foundLines', { n: lines, files: data.files.length })}
        {data.more && ` ${t('foundTextMore')}`}
      </p>
      <ul className="space-y-2">
        {data.files.map(file => (
          <li key={file.path}>
            <p className="truncate px-1 font-semibold text-small" title={file.path}>
              {file.path.slice(root.length + 1)}
            </p>
            <ul>
              {file.lines.map(({ line, excerpt }) => (
                <li key={line}>
                  <PassageLink
                    place={{ path: file.path, lines: [line, line] }}
                    className="flex gap-2 rounded-md px-1 py-0.5 text-fg-2 text-small no-underline hover:bg-hover pointer-coarse:min-h-11"
                  >
                    <span className="w-9 shrink-0 text-end text-fg-3 tabular-nums">{line}</span>
                    <span className="min-w-0 flex-1 [overflow-wrap:anywhere]">
                      <MarkedText stretches={markWords(excerpt, words)} />
                    </span>
                  </PassageLink>
                </li>
              ))}
            </ul>
            {file.left_out > 0 && (
              <p className="ps-12 text-fg-3 text-meta">{t('foundLinesMore', { n: file.left_out })}</p>
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}
