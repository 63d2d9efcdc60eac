import { Wrench } from 'lucide-react'
import { useDeferredValue, useId, useMemo } from 'react'
import { useSkills } from '@/api/queries'
import { Banner } from '@/components/ui/Banner'
import { Button } from '@/components/ui/Button'
import { type Buffer, isDirty } from '@/features/editor/buffer'
import { skillOf } from '@/features/inspector/names'
import { useSay, useT } from '@/lib/i18n'
import '@/lib/later'
import { openFile } from '@/stores/ui'
import { applyFix } from './applyFix'
import { problemsIn } from './check'
import { type Fix, fixOf } from './fixes'
import { breaks, shownProblems, wordsOf } from './shown'

/** What is wrong with an open SKILL.md, each with its line and, where one is certain, a fix. */
export default function SkillBanner({ buffer }: { buffer: Buffer }) {
  const t = useT()
  const say = useSay()
  const { file } = buffer
  const folder = skillOf(file) ?? ''
  const text = useDeferredValue(buffer.text)
  const { data, isFetching } = useSkills()
  const skill = data?.find(({ location }) => location === `${file}`)
  // Until the list is read again, it describes the version before.
  const isSaved = skill !== undefined && !isDirty(buffer) && !isFetching && text === buffer.text
  const found = useMemo(() => problemsIn(text, folder), [text, folder])
  const fixes = useMemo(
    () => new Map(found.map(({ code }) => [code, fixOf(code, text, folder)])),
    [found, text, folder],
  )
  const shown = shownProblems(found, skill, isSaved)
  if (shown.length === 0) return null
  const isUsed = !shown.some(breaks)
  return (
    <Banner tone={isUsed ? 'news' : 'warn'}>
      <p role="status" className="flex items-center gap-2 font-medium">
        <Wrench size={14} aria-hidden className="shrink-0" />
        {t(isUsed ? 'skillImperfect' : 'skillUnused', { n: shown.length })}
      </p>
      <ul className="scroll max-h-[30dvh] max-md:max-h-[16dvh]">
        {shown.map(one => {
          const words = wordsOf(one, t, say)
          if (one.kind === 'server') return <Row key={words} words={words} />
          const { code, line } = one.problem
          return (
            <Row
              key={code}
              words={words}
              line={line}
              fix={fixes.get(code)}
              onLine={line => openFile(file, [line, line])}
              onFix={() => applyFix(file, code, folder)}
            />
          )
        })}
      </ul>
    </Banner>
  )
}

interface RowProps {
  words: string
  line?: number | null
  fix?: Fix | null
  onLine?: (line: number) => void
  onFix?: () => void
}

function Row({ words, line, fix, onLine, onFix }: RowProps) {
  const t = useT()
  const id = useId()
  return (
    <li className="flex flex-wrap items-center gap-x-1.5 gap-y-1 pt-1">
      <span id={id} className="min-w-[9rem] flex-1 text-fg">
        {words}
      </span>
      {line != null && (
        <Button size="small" look="ghost" aria-describedby={id} onClick={() => onLine?.(line)}>
          {t('skillLine', { line: String(line) })}
        </Button>
      )}
      {fix && (
        <Button size="small" aria-describedby={id} onClick={onFix}>
          {t(fix.kind === 'fix' ? 'skillFix' : 'skillWrite')}
        </Button>
      )}
    </li>
  )
}
