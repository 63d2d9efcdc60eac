import type { PersonUsage } from '@/api/types'
import { costOf } from '@/features/usage/words'
import { compactNumber, fileSize } from '@/lib/format'
import { useLang, useT } from '@/lib/i18n'

/** What a person uses, in words: numbers, never contents. Empty while it is not known. */
export function useUsageFacts(usage: PersonUsage | undefined): string[] {
  const t = useT()
  const lang = useLang()
  const month = usage?.month
  if (!usage || !month) return []
  const { conversations, projects, home } = usage
  const cost = month.costs.length > 0 ? ` (${costOf(month, t, lang)})` : ''
  return [
    t('personTokens', { n: compactNumber(month.total_tokens) }) + cost,
    t('personConversations', { n: conversations ?? 0 }),
    t('personProjects', { n: projects ?? 0 }),
    ...(home ? [t('personHome', { size: `${home.is_partial ? '≥ ' : ''}${fileSize(home.bytes)}` })] : []),
  ]
}
