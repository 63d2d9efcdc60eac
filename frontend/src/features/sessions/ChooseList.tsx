import '@/lib/later'
import { type KeyboardEvent, type MouseEvent, useEffect, useRef, useState } from 'react'
import { useLocation } from 'wouter'
import { useT } from '@/lib/i18n'
import { useArrangement } from './arrangement'
import { archiveAll, exportAll, removeAll } from './bulk'
import { ChooseBar } from './ChooseBar'
import { ChooseRow } from './ChooseRow'
import { between, type Group } from './groups'
import { titleOf } from './groupTitle'

interface Props {
  groups: readonly Group[]
  /** Ids that are selected initially. */
  start: readonly string[]
  /** Ids of the sessions with a pending call. */
  waiting: ReadonlySet<string>
  current: string | null
  onDone: () => void
}

/** The list in selection mode: each row has a checkbox, and the actions on all of them are above. */
export default function ChooseList({ groups, start, waiting, current, onDone }: Props) {
  const t = useT()
  const [, navigate] = useLocation()
  const sort = useArrangement(s => s.sort)
  const [picked, setPicked] = useState<ReadonlySet<string>>(() => new Set(start))
  const [anchor, setAnchor] = useState(start.at(-1) ?? null)
  const box = useRef<HTMLFieldSetElement>(null)
  const all = groups.flatMap(group => group.sessions)
  // Another tab may have deleted one in the meantime.
  const chosen = all.filter(session => picked.has(session.id))
  const ids = chosen.map(session => session.id)
  const archived = new Set(groups.find(group => group.name === 'archived')?.sessions)
  const whole = all.length > 0 && chosen.length === all.length

  // The menu or the row that started this is gone, or restores the focus to its button first.
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the boxes appear
  useEffect(() => {
    const frame = requestAnimationFrame(() => {
      const at = all.findIndex(session => session.id === anchor)
      box.current?.querySelectorAll<HTMLInputElement>('input[type=checkbox]')[Math.max(0, at)]?.focus()
    })
    return () => cancelAnimationFrame(frame)
  }, [])

  const toggle = (id: string, event: MouseEvent) => {
    const on = !picked.has(id)
    const range = event.shiftKey && anchor !== null ? between(groups, anchor, id) : [id]
    const next = new Set(picked)
    for (const one of range) {
      if (on) next.add(one)
      else next.delete(one)
    }
    setPicked(next)
    setAnchor(id)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Escape') return
    // Esc ends the selection; it does not stop a run.
    event.stopPropagation()
    onDone()
  }
  const onDelete = async () => {
    onDone()
    const gone = await removeAll(chosen)
    if (current !== null && gone.includes(current)) navigate('/')
  }
  return (
    <fieldset ref={box} aria-label={t('chooseSessions')} onKeyDown={onKeyDown} className="min-w-0">
      <ChooseBar
        count={chosen.length}
        whole={whole}
        archived={chosen.length > 0 && chosen.every(session => archived.has(session))}
        onAll={on => setPicked(new Set(on ? all.map(session => session.id) : []))}
        onDone={onDone}
        onArchive={on => {
          onDone()
          void archiveAll(ids, on)
        }}
        onExport={() => {
          onDone()
          void exportAll(ids)
        }}
        onDelete={() => void onDelete()}
      />
      {groups.map(group => (
        <section key={titleOf(group, sort, t)} aria-label={titleOf(group, sort, t)}>
          <h2 className="px-2 pt-2 pb-1 font-medium text-fg-3 text-meta">{titleOf(group, sort, t)}</h2>
          <ul>
            {group.sessions.map(session => (
              <li key={session.id}>
                <ChooseRow
                  session={session}
                  state={waiting.has(session.id) ? 'approval' : session.state}
                  chosen={picked.has(session.id)}
                  onToggle={event => toggle(session.id, event)}
                />
              </li>
            ))}
          </ul>
        </section>
      ))}
    </fieldset>
  )
}
