import { Sparkles, TriangleAlert } from 'lucide-react'
import type { Skill } from '@/api/types'
import { Badge } from '@/components/ui/Badge'
import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'
import { FileRef, isBelow } from '@/lib/roots'
import { type FileActions, FileMenu } from './FileMenu'
import { Tokens } from './Tokens'

interface Props {
  skills: Skill[]
  /** The tokens of each file, by path. */
  tokens: ReadonlyMap<string, number | null>
  untrusted: readonly string[]
  current: string | null
  dirty: ReadonlySet<string>
  onOpen: (file: FileRef) => void
  /** What changes a file; null if nobody may. */
  actions: FileActions | null
}

const folderOf = ({ location }: Skill): string => location.slice(0, location.lastIndexOf('/'))

export function SkillList({ skills, tokens, untrusted, current, dirty, onOpen, actions }: Props) {
  const t = useT()
  return (
    <ul>
      {skills.map(skill => {
        const file = FileRef.parse(skill.location)
        return (
          file && (
            <li
              key={skill.location}
              className={cn(
                'group relative flex items-start rounded-md pe-0.5',
                current === skill.location ? 'bg-sel' : 'focus-within:bg-hover hover:bg-hover',
              )}
            >
              <button
                type="button"
                aria-current={current === skill.location ? 'true' : undefined}
                title={skill.location}
                onClick={() => onOpen(file)}
                className="flex min-w-0 flex-1 items-start gap-2 rounded-md px-2 py-1.5 text-start text-[13px]"
              >
                {skill.error ? (
                  <TriangleAlert size={14} aria-hidden className="mt-1 shrink-0 text-bad" />
                ) : (
                  <Sparkles size={14} aria-hidden className="mt-1 shrink-0 text-rag" />
                )}
                <span className="min-w-0 flex-1">
                  <span className="flex items-center gap-2">
                    <span className="truncate font-medium">{skill.name}</span>
                    {untrusted.some(path => isBelow(folderOf(skill), path)) && (
                      <Badge tone="warn">{t('untrusted')}</Badge>
                    )}
                    {dirty.has(skill.location) && (
                      <span title={t('unsaved')} className="size-2 shrink-0 rounded-full bg-warn">
                        <span className="sr-only">{t('unsaved')}</span>
                      </span>
                    )}
                    <Tokens n={tokens.get(skill.location)} />
                  </span>
                  {skill.error ? (
                    <span className="block text-bad text-small">{t('skillError')}</span>
                  ) : (
                    <span className="line-clamp-2 text-fg-2 text-small">{skill.description}</span>
                  )}
                  {!skill.error && skill.notes && (
                    <span className="block text-fg-3 text-meta">
                      {t('skillNotes', { n: skill.notes.length })}
                    </span>
                  )}
                </span>
              </button>
              <FileMenu file={file} {...actions} />
            </li>
          )
        )
      })}
    </ul>
  )
}
