import { FileText } from 'lucide-react'
import { useEffect, useRef } from 'react'
import { QueryError } from '@/components/ui/QueryError'
import { Skeleton } from '@/components/ui/Skeleton'
import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import type { NameSearch } from './useNameSearch'

/** The files of a project whose names match, below the field in which a person types. */
export default function FoundNames({ search }: { search: NameSearch }) {
  const t = useT()
  const list = useRef<HTMLDivElement>(null)
  const { files, active, listId, more, error, pick } = search
  // biome-ignore lint/correctness/useExhaustiveDependencies: the active row moves by `active`
  useEffect(() => {
    list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' })
  }, [active])
  if (error) return <QueryError error={error} className="p-3" />
  if (!files) return <Skeleton label={t('loading')} rows={3} />
  return (
    <div className="scroll max-h-(--list) min-h-20 px-2 pb-2">
      <p role="status" className={cn('px-1 py-1 text-fg-3 text-small', files.length > 0 && 'sr-only')}>
        {files.length === 0 ? t('noMatchInProject') : t('foundNames', { n: files.length })}
      </p>
      <div ref={list} id={listId} role="listbox" aria-label={t('findFile')}>
        {files.map((file, i) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the text field handles the keys and refers to this option
          <div
            key={file.path}
            id={`${listId}-${i}`}
            role="option"
            tabIndex={-1}
            aria-selected={i === active}
            title={file.path}
            onClick={() => pick(i)}
            className={cn(
              'flex cursor-default items-center gap-2 rounded-md px-2 py-1 text-[13px] touch-row',
              i === active ? 'bg-sel' : 'hover:bg-hover',
            )}
          >
            <FileText size={14} aria-hidden className="shrink-0 text-fg-3" />
            <span className="max-w-full shrink-0 truncate">{file.name}</span>
            <span className="min-w-0 flex-1 truncate text-fg-3 text-small">
              {file.path.slice(0, -file.name.length - 1)}
            </span>
          </div>
        ))}
      </div>
      {more && <p className="px-2 py-1 text-fg-3 text-small">{t('moreFound')}</p>}
    </div>
  )
}
