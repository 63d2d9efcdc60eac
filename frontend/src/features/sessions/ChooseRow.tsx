import type { MouseEvent } from 'react'
import type { SessionSummary } from '@/api/types'
import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'
import { StateMark } from './StateMark'

interface Props {
  session: SessionSummary
  state: SessionSummary['state'] | 'approval'
  chosen: boolean
  /** Also called for the space bar, which fires a click too. */
  onToggle: (event: MouseEvent) => void
}

/** A session with a checkbox; the whole row is its label. */
export function ChooseRow({ session, state, chosen, onToggle }: Props) {
  const t = useT()
  return (
    <label
      className={cn(
        'flex cursor-pointer select-none items-center gap-2 rounded-md px-2 py-1.5 touch-row',
        chosen ? 'bg-sel' : 'focus-within:bg-hover hover:bg-hover',
      )}
    >
      <input
        type="checkbox"
        checked={chosen}
        readOnly
        onClick={onToggle}
        className="size-4 shrink-0 accent-accent"
      />
      <span className="min-w-0 flex-1 truncate">{session.title || session.begins || t('untitled')}</span>
      <StateMark state={state} />
    </label>
  )
}
