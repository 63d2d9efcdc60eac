import type { UnusableRecord } from '@/api/types'
import { Banner } from '@/components/ui/Banner'
import { type Key, useT } from '@/lib/i18n'

const WORDS: readonly [UnusableRecord['problem'], Key][] = [
  ['missing', 'changesProblemMissing'],
  ['foreign', 'changesProblemForeign'],
  ['damaged', 'changesProblemDamaged'],
  ['disk_full', 'changesProblemDiskFull'],
  ['too_many_files', 'changesProblemTooManyFiles'],
]

/** Says of how many steps not all changes are known, and why. */
export function Problems({ problems }: { problems: readonly UnusableRecord[] }) {
  const t = useT()
  if (problems.length === 0) return null
  const reasons = WORDS.flatMap(([problem, key]) => {
    const n = problems.filter(other => other.problem === problem).length
    return n > 0 ? [t(key, { n })] : []
  })
  return (
    <Banner tone="warn">
      {t('changesProblems', { n: problems.length })}
      {reasons.join(t('listSeparator'))}
    </Banner>
  )
}
