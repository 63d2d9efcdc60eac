import { Pencil, X } from 'lucide-react'
import { useState } from 'react'
import { Button, IconButton } from '@/components/ui/Button'
import { Kbd } from '@/components/ui/Kbd'
import { useT } from '@/lib/i18n'
import { chordOf, keysOf, useChords, useChosenChords } from './chords'
import type { Chord } from './command'
import { COMMANDS, type CommandId } from './commands'
import { LIST_KEYS, WRITING_KEYS } from './shortcuts'
import { useRecording } from './useRecording'

/** All keyboard shortcuts. A person changes one by pressing the new keys. */
export function ShortcutList() {
  const t = useT()
  const chosen = useChosenChords()
  const [changing, setChanging] = useState<CommandId | null>(null)
  const set = (command: CommandId, chord: Chord | null) =>
    useChords.setState({ chosen: { ...chosen, [command]: chord } })
  const problem = useRecording(changing, chord => {
    if (changing && chord) set(changing, chord)
    setChanging(null)
  })
  return (
    <>
      <dl className="divide-y text-[13px]">
        {COMMANDS.filter(({ keys }) => keys !== null).map(listed => {
          const { id: command, label } = listed
          const chord = chordOf(listed, chosen)
          const name = t(label)
          return (
            <div key={command} className="flex items-center gap-2 py-1">
              <dt className="min-w-0 flex-1">{name}</dt>
              <dd className="flex items-center gap-1">
                {changing === command ? (
                  <span role="status" className="text-accent">
                    {problem ?? t('keysPress')}
                  </span>
                ) : (
                  <Keys chord={chord} none={t('keysNone')} />
                )}
                <IconButton
                  label={t('keysChange', { name })}
                  size="smallIcon"
                  aria-pressed={changing === command}
                  onClick={() => setChanging(changing === command ? null : command)}
                >
                  <Pencil size={12} aria-hidden />
                </IconButton>
                <IconButton
                  label={t('keysRemove', { name })}
                  size="smallIcon"
                  disabled={chord === null}
                  onClick={() => set(command, null)}
                >
                  <X size={12} aria-hidden />
                </IconButton>
              </dd>
            </div>
          )
        })}
        {[...WRITING_KEYS, ...LIST_KEYS].map(key => (
          <div key={key.label} className="flex items-center justify-between gap-4 py-1.5">
            <dt>{t(key.label)}</dt>
            <dd className="flex gap-1">
              <Keys chord={key} none="" />
            </dd>
          </div>
        ))}
      </dl>
      <Button
        size="small"
        className="mt-3"
        disabled={Object.keys(chosen).length === 0}
        onClick={() => useChords.setState({ chosen: {} })}
      >
        {t('keysReset')}
      </Button>
    </>
  )
}

function Keys({ chord, none }: { chord: Chord | null; none: string }) {
  if (!chord) return <span className="text-fg-3">{none}</span>
  return keysOf(chord).map(key => <Kbd key={key}>{key}</Kbd>)
}
