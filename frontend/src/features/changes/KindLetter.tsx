import type { ChangedFile } from '@/api/types'
import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'
import { KINDS } from './kinds'

/** What happens to an entry, as a letter; screen readers get the word where the row says it. */
export function KindLetter({ kind }: { kind: ChangedFile['kind'] }) {
  const t = useT()
  const { letter, word, tone } = KINDS[kind]
  return (
    <span
      aria-hidden
      title={t(word)}
      className={cn('w-3.5 shrink-0 text-center font-mono font-semibold text-[12px]', tone)}
    >
      {letter}
    </span>
  )
}
