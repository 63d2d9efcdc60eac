import { useTrust } from '@/api/queries'
import { cn } from '@/lib/cn'
import { count } from '@/lib/format'
import { type Guidance, guidanceOf } from '@/lib/guidance'
import { type Key, useT } from '@/lib/i18n'
import type { FileRef } from '@/lib/roots'
import type { Budget } from './budget'

const WORDS: Record<Budget['share'], Key> = {
  each: 'budgetEach',
  named: 'budgetNamed',
  found: 'budgetFound',
  read: 'budgetRead',
}

/** When a trusted file with instructions of a project is sent. */
const GUIDANCE: Record<Guidance, Key> = {
  project: 'budgetGuide',
  folder: 'budgetFolderGuide',
  substitute: 'budgetSubstitute',
  skill: 'budgetNamed',
}

interface Props {
  file: FileRef
  budget: Budget | null
}

/**
 * The tokens of the text: counted by the server for the saved version, estimated (≈) for edits since then. Until it
 * is counted, the space of the line is reserved.
 */
export function BudgetLine({ file, budget }: Props) {
  const t = useT()
  const guidance = guidanceOf(file)
  const trust = useTrust(guidance === null ? null : `${file}`).data
  if (!budget || (guidance !== null && !trust))
    return <p aria-hidden className="box-content h-[1lh] border-b px-3 py-1 text-meta" />
  const { share, tokens, exact, characters, limit } = budget
  const key = guidance === null ? WORDS[share] : trust?.trusted ? GUIDANCE[guidance] : 'budgetUntrusted'
  const isGuide = guidance !== null && guidance !== 'skill'
  const truncated = budget.truncated || (isGuide && characters > limit)
  const words = t(key, { n: exact ? tokens : { n: tokens, text: `≈ ${count(tokens)}` } })
  return (
    <p
      data-budget={exact ? 'exact' : 'guess'}
      title={exact ? t('budgetExact') : t('budgetGuess')}
      className={cn(
        'flex flex-wrap gap-x-2 border-b px-3 py-1 text-meta tabular-nums',
        truncated ? 'text-warn' : 'text-fg-3',
      )}
    >
      <span>{words}</span>
      {truncated && <span>{t('budgetCut', { n: characters, limit })}</span>}
    </p>
  )
}
