import { cn } from '@/lib/cn'
import { count } from '@/lib/format'
import { type Key, useT } from '@/lib/i18n'
import type { Budget } from './budget'

const WORDS: Record<Budget['share'], Key> = {
  each: 'budgetEach',
  named: 'budgetNamed',
  found: 'budgetFound',
  read: 'budgetRead',
}

/**
 * The tokens of the text: counted by the server for the saved version, estimated (≈) for edits since then. Until it
 * is counted, the space of the line is reserved.
 */
export function BudgetLine({ budget }: { budget: Budget | null }) {
  const t = useT()
  if (!budget) return <p aria-hidden className="box-content h-[1lh] border-b px-3 py-1 text-meta" />
  const { share, tokens, exact, characters, limit, truncated } = budget
  const words = t(WORDS[share], { n: exact ? tokens : { n: tokens, text: `≈ ${count(tokens)}` } })
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
