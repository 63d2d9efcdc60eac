import { ArrowUpRight, Compass } from 'lucide-react'
import type { ReactNode } from 'react'
import { chordOf, keysOf, useChosenChords } from '@/app/chords'
import { commandOf } from '@/app/commands'
import { WRITING_KEYS } from '@/app/shortcuts'
import { CommandButton } from '@/components/CommandButton'
import { Kbd } from '@/components/ui/Kbd'
import { useT } from '@/lib/i18n'
import { useTour } from '@/stores/tour'

interface Props {
  onPick: (text: string) => void
  /** The setup that is missing before a model can answer. */
  first: ReactNode
}

export function EmptyState({ onPick, first }: Props) {
  const t = useT()
  const offered = useTour(tour => !tour.seen && tour.step === null)
  return (
    <div className="scroll flex min-h-0 flex-1 flex-col px-4">
      <div className="m-auto w-full max-w-[520px] py-6 text-center">
        <span
          aria-hidden
          className="low:hidden mx-auto grid size-12 place-items-center rounded-lg bg-accent font-semibold text-[22px] text-accent-fg shadow-(--shadow)"
        >
          m
        </span>
        <p className="low:mt-0 mt-4 font-semibold text-[20px]">{t('emptyTitle')}</p>
        <p className="mx-auto mt-1 max-w-[40ch] text-fg-2">{t('emptyBody')}</p>
        {first}
        <ul className="low:mt-3 mt-6 space-y-2 text-start">
          {(['starter1', 'starter2', 'starter3'] as const).map(key => (
            <li key={key}>
              <button
                type="button"
                onClick={() => onPick(t(key))}
                className="flex w-full items-center gap-3 rounded-lg border bg-card px-4 py-3 text-start text-[13.5px] transition-colors hover:border-accent"
              >
                <span className="flex-1">{t(key)}</span>
                <ArrowUpRight size={15} aria-hidden className="shrink-0 text-fg-3" />
              </button>
            </li>
          ))}
        </ul>
        {!first && offered && (
          <CommandButton command="tour" look="ghost" className="mt-4">
            <Compass size={14} aria-hidden />
            {t('tour')}
          </CommandButton>
        )}
        <Hints />
      </div>
    </div>
  )
}

const NEW_LINE = WRITING_KEYS.filter(({ label }) => label === 'newLine')
const COMMANDS = ['palette', 'shortcuts'] as const

/** A few shortcuts to start with, as they are assigned. Hidden on touch screens. */
function Hints() {
  const t = useT()
  const chosen = useChosenChords()
  const hints = [
    ...NEW_LINE.map(key => ({ label: key.label, chord: key })),
    ...COMMANDS.map(commandOf).map(command => ({ label: command.label, chord: chordOf(command, chosen) })),
  ]
  return (
    <dl className="mt-5 flex flex-wrap justify-center gap-x-5 gap-y-1.5 text-fg-3 text-small pointer-coarse:hidden">
      {hints.map(
        ({ label, chord }) =>
          chord && (
            <div key={label} className="flex items-center gap-1.5">
              <dt>{t(label)}</dt>
              <dd className="flex gap-1">
                {keysOf(chord).map(key => (
                  <Kbd key={key}>{key}</Kbd>
                ))}
              </dd>
            </div>
          ),
      )}
    </dl>
  )
}
