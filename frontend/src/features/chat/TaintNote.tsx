import { ShieldAlert } from 'lucide-react'
import type { Taint } from '@/api/types'
import { Button } from '@/components/ui/Button'
import { Visible } from '@/components/Visible'
import { type Key, locale, type Translate, useLang, useT } from '@/lib/i18n'
import '@/lib/later'

interface Props {
  sources: readonly Taint[]
  /** Null while the conversation runs: text it reads then would taint it again at once. */
  onClear: (() => void) | null
}

const WORDS: Record<Exclude<Taint['from'], 'output'>, Key> = {
  page: 'taintPage',
  document: 'taintDocument',
  attachment: 'taintAttachment',
  skill: 'taintSkill',
  command: 'taintCommand',
  imported: 'taintImported',
  outside: 'taintOutside',
}

/** Number of sources named in the line; its tooltip names all. */
const NAMED = 2

const named = (source: Taint, t: Translate): string | null =>
  source.from === 'output' ? null : t(WORDS[source.from], 'name' in source ? { name: source.name } : {})

/** Warns that the conversation contains text that strangers may have written, and lets a person clear the taint. */
export default function TaintNote({ sources, onClear }: Props) {
  const t = useT()
  const lang = useLang()
  // Output of a command is weak evidence, and would show in almost every conversation.
  const all = sources.map(source => named(source, t)).filter(words => words !== null)
  if (all.length === 0) return null
  const rest = all.length - NAMED
  const list = new Intl.ListFormat(locale(lang), { style: 'short', type: 'conjunction' })
  const shown = [...all.slice(0, NAMED), ...(rest > 0 ? [t('taintMore', { n: rest })] : [])]
  return (
    <section
      aria-label={t('taintedLabel')}
      className="mx-auto flex w-full max-w-[760px] items-center gap-2 px-4 pt-1 pb-1.5 text-fg-2 text-small max-md:px-2"
    >
      <ShieldAlert size={14} aria-hidden className="shrink-0 text-warn" />
      <p
        title={`${all.join('\n')}\n\n${t('taintedHint')}`}
        className="line-clamp-2 min-w-0 flex-1 [overflow-wrap:anywhere]"
      >
        <Visible text={t('tainted', { sources: list.format(shown) })} />
      </p>
      <Button
        size="small"
        look="ghost"
        disabled={onClear === null}
        title={t(onClear === null ? 'taintClearBusy' : 'taintClearHint')}
        onClick={() => onClear?.()}
      >
        {t('taintClear')}
      </Button>
    </section>
  )
}
