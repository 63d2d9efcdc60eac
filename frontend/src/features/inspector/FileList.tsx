import { FileText, TriangleAlert } from 'lucide-react'
import type { FileEntry } from '@/api/types'
import { Badge } from '@/components/ui/Badge'
import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'
import { type FileActions, FileMenu } from './FileMenu'
import { Tokens } from './Tokens'

interface Props {
  files: FileEntry[]
  /** What the list is of; its name is left out of the paths. */
  root: string
  untrusted: readonly string[]
  current: string | null
  dirty: ReadonlySet<string>
  onOpen: (path: string) => void
  actions: FileActions
}

export function FileList({ files, root, untrusted, current, dirty, onOpen, actions }: Props) {
  const t = useT()
  return (
    <ul>
      {files.map(file => {
        const name = file.path.startsWith(`${root}/`) ? file.path.slice(root.length + 1) : file.path
        return (
          <li
            key={file.path}
            className={cn(
              'group relative flex items-center rounded-md',
              current === file.path ? 'bg-sel' : 'focus-within:bg-hover hover:bg-hover',
            )}
          >
            <button
              type="button"
              aria-current={current === file.path ? 'true' : undefined}
              title={file.problem ?? file.path}
              onClick={() => onOpen(file.path)}
              className="flex min-w-0 flex-1 items-center gap-2 rounded-md px-2 py-1 text-start text-[13px] max-md:min-h-11 pointer-coarse:min-h-11"
            >
              {file.problem ? (
                <TriangleAlert size={14} aria-hidden className="shrink-0 text-warn" />
              ) : (
                <FileText size={14} aria-hidden className="shrink-0 text-fg-3" />
              )}
              <span className="min-w-0 flex-1 truncate">{name}</span>
              {dirty.has(file.path) && (
                <span title={t('unsaved')} className="size-2 shrink-0 rounded-full bg-warn">
                  <span className="sr-only">{t('unsaved')}</span>
                </span>
              )}
              {untrusted.includes(file.path) && <Badge tone="warn">{t('untrusted')}</Badge>}
              <Tokens n={file.tokens} />
            </button>
            <FileMenu path={file.path} {...actions} />
          </li>
        )
      })}
    </ul>
  )
}
