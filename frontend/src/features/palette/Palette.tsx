import { FileText, MessageSquare, Search, Terminal } from 'lucide-react'
import { Dialog } from 'radix-ui'
import { type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { Kbd } from '@/components/ui/Kbd'
import { useOpener } from '@/components/ui/useOpener'
import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'
import { useComposition } from '@/lib/ime'
import { closeDialog } from '@/stores/ui'
import type { Item } from './item'
import { useItems } from './useItems'

const ICONS = { commands: Terminal, sessions: MessageSquare, files: FileText }

interface Props {
  /** The only group to choose from; null for all. */
  only: Item['group'] | null
}

export default function Palette({ only }: Props) {
  const t = useT()
  const [query, setQuery] = useState('')
  const [at, setAt] = useState(0)
  const list = useRef<HTMLDivElement>(null)
  const composition = useComposition()
  const { remember, onCloseAutoFocus } = useOpener()
  const items = useItems(query).filter(item => only === null || item.group === only)
  const hint = only === 'files' ? 'openFileByName' : 'paletteHint'
  const active = Math.min(at, items.length - 1)
  const pick = (item: Item | undefined) => {
    if (!item) return
    closeDialog()
    // After the dialog has restored the focus, so that the command can move it.
    setTimeout(item.run)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (composition.owns(event)) return
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step && items.length > 0) setAt((active + step + items.length) % items.length)
    else if (event.key === 'Enter') pick(items[active])
    else return
    event.preventDefault()
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: the active row moves by `active`
  useEffect(() => {
    list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' })
  }, [active])
  return (
    <Dialog.Root open onOpenChange={open => !open && closeDialog()}>
      <Dialog.Portal>
        <Dialog.Overlay className="fixed inset-0 z-40 bg-black/30" />
        <Dialog.Content
          aria-describedby={undefined}
          onOpenAutoFocus={remember}
          onCloseAutoFocus={onCloseAutoFocus}
          onEscapeKeyDown={event => {
            const { key, keyCode } = event
            if (composition.owns({ key, keyCode, nativeEvent: event })) event.preventDefault()
          }}
          className="floating appear fixed inset-x-0 low:top-[3dvh] top-[12%] z-50 mx-auto w-[min(620px,94vw)] overflow-hidden rounded-xl"
        >
          <Dialog.Title className="sr-only">{t('palette')}</Dialog.Title>
          <div className="flex items-center gap-2 border-b px-3.5">
            <Search size={16} aria-hidden className="shrink-0 text-fg-3" />
            <input
              role="combobox"
              aria-expanded="true"
              aria-controls="palette-list"
              aria-activedescendant={items[active] ? `palette-${active}` : undefined}
              aria-label={t(hint)}
              placeholder={t(hint)}
              value={query}
              onChange={event => {
                setQuery(event.target.value)
                setAt(0)
              }}
              onKeyDown={onKeyDown}
              {...composition.handlers}
              className="h-12 w-full bg-transparent text-[14px] outline-none max-md:text-[16px] pointer-coarse:text-[16px]"
            />
          </div>
          <div
            ref={list}
            id="palette-list"
            role="listbox"
            aria-label={t('palette')}
            className="scroll low:max-h-[calc(94dvh-50px)] max-h-[52vh] p-1.5"
          >
            {items.length === 0 && <p className="p-6 text-center text-fg-3">{t('nothingFound')}</p>}
            {items.map((item, i) => (
              <Row
                key={`${item.group}:${item.id}`}
                item={item}
                index={i}
                active={i === active}
                heading={items[i - 1]?.group === item.group ? null : t(item.group)}
                onPick={() => pick(item)}
                onHover={() => setAt(i)}
              />
            ))}
          </div>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

interface RowProps {
  item: Item
  index: number
  active: boolean
  heading: string | null
  onPick: () => void
  onHover: () => void
}

function Row({ item, index, active, heading, onPick, onHover }: RowProps) {
  const Icon = ICONS[item.group]
  return (
    <>
      {heading && (
        <div role="presentation" className="px-2.5 pt-1.5 pb-1 text-fg-3 text-meta">
          {heading}
        </div>
      )}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the text field handles the keys and refers to this option */}
      <div
        id={`palette-${index}`}
        role="option"
        tabIndex={-1}
        aria-selected={active}
        onClick={onPick}
        onPointerMove={onHover}
        className={cn(
          'flex cursor-pointer items-center gap-2.5 rounded-md px-2.5 py-1.5 text-[13.5px] pointer-coarse:min-h-11',
          active && 'bg-sel',
        )}
      >
        <Icon size={15} aria-hidden className="shrink-0 text-fg-3" />
        <span className="min-w-0 flex-1 truncate">{item.text}</span>
        {item.keys.length > 0 && (
          <span className="flex gap-1 pointer-coarse:hidden">
            {item.keys.map(key => (
              <Kbd key={key}>{key}</Kbd>
            ))}
          </span>
        )}
      </div>
    </>
  )
}
