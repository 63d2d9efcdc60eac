import { GitCompare, Save } from 'lucide-react'
import { CommandButton, CommandIconButton } from '@/components/CommandButton'
import { Badge } from '@/components/ui/Badge'
import type { Access } from '@/features/project/role'
import { clock } from '@/lib/format'
import { type Lang, locale, type Translate, useLang, useT } from '@/lib/i18n'
import { type Buffer, isDirty } from './buffer'
import { PreviewSwitch } from './PreviewSwitch'
import type { View } from './preview'

function badgeOf(buffer: Buffer, t: Translate, lang: Lang) {
  switch (buffer.state.kind) {
    case 'dirty':
      return { tone: 'warn', words: t('unsaved') } as const
    case 'saving':
      return { tone: 'plain', words: t('saving') } as const
    case 'conflict':
      return { tone: 'warn', words: t('conflict') } as const
    case 'deleted':
      return { tone: 'bad', words: t('deletedOnDisk') } as const
    case 'clean':
      return buffer.savedAt === null
        ? ({ tone: 'plain', words: t('unchanged') } as const)
        : ({ tone: 'ok', words: t('saved', { at: clock(buffer.savedAt, locale(lang)) }) } as const)
  }
}

interface Props {
  buffer: Buffer
  /** The difference between the text and the saved file is shown. */
  comparing: boolean
  /** A line below shows the tokens of the text. */
  tokensBelow: boolean
  /** What the person may do with the file. */
  access?: Access
  /** How the file is shown; null if it has no preview. */
  view: View | null
}

export function EditorBar({ buffer, comparing, tokensBelow, access = 'write', view }: Props) {
  const t = useT()
  const lang = useLang()
  const badge = badgeOf(buffer, t, lang)
  const { kind } = buffer.state
  const savable = kind === 'deleted' || (kind === 'dirty' && isDirty(buffer))
  // Edits from before somebody lost the right to save them stay in view.
  const gone = access === 'gone'
  const locked = access !== 'write' && !isDirty(buffer)
  return (
    <div className="flex items-center gap-2 border-y px-3 py-1.5">
      <span className="min-w-0 flex-1 truncate font-mono text-[12px]" title={buffer.file.shown}>
        {buffer.file.shown}
      </span>
      {buffer.tokens !== null && !tokensBelow && (
        <span className="shrink-0 text-fg-3 text-meta tabular-nums max-md:hidden">
          {t('tokens', { n: buffer.tokens })}
        </span>
      )}
      {!locked && <Badge tone={badge.tone}>{badge.words}</Badge>}
      {locked && access === 'read' && <Badge>{t('readOnly')}</Badge>}
      {view !== null && <PreviewSwitch view={view} />}
      {!gone && (isDirty(buffer) || comparing) && kind !== 'conflict' && (
        <CommandIconButton
          command="diffFile"
          label={t(comparing ? 'compareEnd' : 'compareBeforeSave')}
          size="smallIcon"
          aria-pressed={comparing}
        >
          <GitCompare size={14} aria-hidden />
        </CommandIconButton>
      )}
      {!locked && !gone && (
        <CommandButton command="saveFile" size="small" look="solid" disabled={!savable}>
          <Save size={13} aria-hidden />
          {t('save')}
        </CommandButton>
      )}
    </div>
  )
}
