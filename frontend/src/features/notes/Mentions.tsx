import { useState } from 'react'
import type { NoteMention } from '@/api/types'
import { Disclosure } from '@/components/ui/Disclosure'
import { QueryError } from '@/components/ui/QueryError'
import { Skeleton } from '@/components/ui/Skeleton'
import { useT } from '@/lib/i18n'
import { FileRef } from '@/lib/roots'
import { openFile } from '@/stores/ui'
import { useMentions } from './notesOf'
import { readable } from './text'

/** Who links to a note, and who mentions it without a link. */
export function Mentions({ file }: { file: FileRef }) {
  const t = useT()
  const [open, setOpen] = useState(false)
  const { data, error } = useMentions(file, open)
  return (
    <Disclosure
      summary={<span className="font-semibold text-small">{t('mentions')}</span>}
      open={open}
      onToggle={setOpen}
      className="mt-5 border-line border-t pt-2"
    >
      {error ? (
        <QueryError error={error} className="py-2" />
      ) : !data ? (
        <Skeleton label={t('loading')} rows={2} />
      ) : (
        <>
          <List words={t('linkedMentions', { n: data.linked.length })} file={file} mentions={data.linked} />
          {data.more_linked && <p className="text-fg-3 text-meta">{t('moreMentions')}</p>}
          <List
            words={t('unlinkedMentions', { n: data.unlinked.length })}
            file={file}
            mentions={data.unlinked}
          />
        </>
      )}
    </Disclosure>
  )
}

interface ListProps {
  words: string
  file: FileRef
  mentions: readonly NoteMention[]
}

function List({ words, file, mentions }: ListProps) {
  return (
    <section aria-label={words} className="pt-1.5">
      <p className="text-fg-3 text-small">{words}</p>
      <ul>
        {mentions.map(({ path, line, text }) => (
          <li key={`${path}:${line}`}>
            <button
              type="button"
              onClick={() => openFile(FileRef.of(file.root, path), [line, line])}
              className="w-full rounded-md px-1 py-1 text-start hover:bg-hover pointer-coarse:min-h-11"
            >
              <span className="block truncate font-medium text-small">{path}</span>
              <span className="block text-fg-2 text-small [overflow-wrap:anywhere]">{readable(text)}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  )
}
