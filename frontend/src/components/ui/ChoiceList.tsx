import { Check, Filter, type LucideIcon } from 'lucide-react'
import { type KeyboardEvent, useContext, useEffect, useId, useRef, useState } from 'react'
import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'
import { useComposition } from '@/lib/ime'
import { matches } from '@/lib/match'
import { Input } from './Input'
import { ChooseContext } from './ListPanel'

export interface Choice {
  value: string | null
  words: string
  /** What it means, in a second line. */
  hint?: string
  icon: LucideIcon
}

interface Props {
  label: string
  /** The label of the field that filters the list. */
  filter: string
  choices: readonly Choice[]
  value: string | null
  onChoose: (value: string | null) => void
  /** Called when the button goes down on a choice, before it is chosen. */
  onPress?: (value: string | null) => void
}

/** Number of choices above which there is a field to filter them. */
const MANY = 8

/** Several choices in a panel, the current one checked. Arrows move, Enter chooses. */
export function ChoiceList({ label, filter, choices, value, onChoose, onPress }: Props) {
  const t = useT()
  const id = useId()
  const choose = useContext(ChooseContext)
  const composition = useComposition()
  const [text, setText] = useState('')
  const [at, setAt] = useState(() =>
    Math.max(
      0,
      choices.findIndex(choice => choice.value === value),
    ),
  )
  const list = useRef<HTMLDivElement>(null)
  const field = useRef<HTMLInputElement>(null)
  const many = choices.length > MANY
  const found = choices.filter(({ words, hint = '' }) => matches(`${words} ${hint}`, text))
  const active = Math.min(at, found.length - 1)
  const pick = (choice: Choice | undefined) => choice && choose(() => onChoose(choice.value))
  useEffect(() => {
    // A touch screen would show its keyboard over the list.
    const touch = matchMedia('(pointer: coarse)').matches
    const focused = touch ? list.current : (field.current ?? list.current)
    focused?.focus({ preventScroll: true })
  }, [])
  // biome-ignore lint/correctness/useExhaustiveDependencies: the active row moves by `active`
  useEffect(() => {
    list.current?.querySelector('[data-active]')?.scrollIntoView({ block: 'nearest' })
  }, [active])
  const onKeyDown = (event: KeyboardEvent) => {
    if (composition.owns(event)) return
    const last = found.length - 1
    const inField = event.target === field.current
    const to = {
      ArrowDown: active < last ? active + 1 : 0,
      ArrowUp: active > 0 ? active - 1 : last,
      ...(!inField && { Home: 0, End: last }),
    }[event.key]
    if (to !== undefined) setAt(to)
    else if (event.key === 'Enter' || (event.key === ' ' && !inField)) pick(found[active])
    else return
    event.preventDefault()
  }
  const activeId = found[active] ? `${id}${active}` : undefined
  return (
    <>
      {many && (
        <div className="p-1">
          <Input
            ref={field}
            size="small"
            icon={Filter}
            role="combobox"
            aria-expanded
            aria-controls={`${id}list`}
            aria-activedescendant={activeId}
            aria-label={filter}
            placeholder={filter}
            value={text}
            onChange={event => {
              setText(event.target.value)
              setAt(0)
            }}
            onKeyDown={onKeyDown}
            {...composition.handlers}
          />
        </div>
      )}
      <div
        ref={list}
        id={`${id}list`}
        role="listbox"
        aria-label={label}
        tabIndex={0}
        aria-activedescendant={activeId}
        onKeyDown={onKeyDown}
        className="scroll max-h-[min(50dvh,360px)] outline-none low:max-h-[34dvh]"
      >
        {found.map((choice, i) => (
          <Row
            key={choice.value}
            id={`${id}${i}`}
            choice={choice}
            checked={choice.value === value}
            active={i === active}
            onPick={() => pick(choice)}
            onHover={() => setAt(i)}
            onPress={() => onPress?.(choice.value)}
          />
        ))}
      </div>
      {found.length === 0 && (
        <p role="status" className="px-2 py-3 text-center text-fg-3 text-small">
          {t('nothingFound')}
        </p>
      )}
    </>
  )
}

interface RowProps {
  id: string
  choice: Choice
  checked: boolean
  active: boolean
  onPick: () => void
  onHover: () => void
  onPress: () => void
}

function Row({ id, choice, checked, active, onPick, onHover, onPress }: RowProps) {
  const { words, hint, icon: Icon } = choice
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list or the field handles the keys and refers to this option
    <div
      id={id}
      role="option"
      tabIndex={-1}
      aria-selected={checked}
      data-active={active ? '' : undefined}
      onClick={onPick}
      onPointerMove={onHover}
      onPointerDown={onPress}
      className={cn(
        'flex cursor-pointer items-center gap-2 rounded-md px-2 py-1.5 text-[13px] pointer-coarse:min-h-11',
        active && 'bg-sel',
        checked && 'font-semibold text-accent',
      )}
    >
      <Icon size={14} aria-hidden className="shrink-0" />
      <span className="min-w-0 flex-1">
        <span className="block truncate">{words}</span>
        {hint && <span className="line-clamp-2 font-normal text-fg-3 text-meta">{hint}</span>}
      </span>
      {checked && <Check size={14} aria-hidden className="shrink-0" />}
    </div>
  )
}
