import { Menu as Radix } from 'radix-ui/internal'
import { createContext, type ReactNode, type RefObject, useContext, useEffect, useRef } from 'react'
import { cn } from '@/lib/cn'
import { ItemView, type MenuItemProps } from './menuParts'

interface Props {
  id: string
  trigger: RefObject<HTMLButtonElement | null>
  align: 'start' | 'end'
  /** A key opened it, so its first item has the focus. */
  byKey: boolean
  onClose: () => void
  children: ReactNode
}

const Trigger = createContext<Props['trigger'] | null>(null)

/** An open menu next to its trigger. */
export default function MenuPanel({ id, trigger, align, byKey, onClose, children }: Props) {
  const pressedOutside = useRef(false)
  return (
    <Radix.Root open modal={false} onOpenChange={open => !open && onClose()}>
      <Radix.Anchor virtualRef={trigger as RefObject<HTMLButtonElement>} />
      {/* Inside the landmark, so that a screen reader that navigates by landmarks reaches it; a dialog hides the landmark. */}
      <Radix.Portal container={trigger.current?.closest('[role=dialog]') ?? document.querySelector('main')}>
        <Radix.Content
          loop
          id={id}
          aria-labelledby={trigger.current?.id}
          align={align}
          sideOffset={4}
          collisionPadding={8}
          className="floating z-50 min-w-40 rounded-lg p-1"
          onInteractOutside={event => {
            if (!trigger.current?.contains(event.target as Node)) pressedOutside.current = true
          }}
          onCloseAutoFocus={event => {
            event.preventDefault()
            // What was chosen may have moved the focus already.
            if (!pressedOutside.current && document.activeElement === document.body) trigger.current?.focus()
          }}
        >
          <Trigger value={trigger}>
            <ItemView value={Item}>{children}</ItemView>
          </Trigger>
          {byKey && <FocusFirst menu={id} />}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}

/** Focuses the first item. The key was pressed before the menu existed, so the menu has not noticed it. */
function FocusFirst({ menu }: { menu: string }) {
  useEffect(() => {
    document.getElementById(menu)?.querySelector<HTMLElement>('[role^=menuitem]')?.focus()
  }, [menu])
  return null
}

function Item({ icon, onSelect, danger, checked, children }: MenuItemProps) {
  const trigger = useContext(Trigger)
  // A dialog returns the focus to what has it when the dialog opens, and the item is about to vanish.
  const choose = () => {
    trigger?.current?.focus()
    onSelect()
  }
  const className = cn(
    'flex cursor-pointer items-center gap-2 rounded-md px-2 py-1.5 text-[13px] outline-none data-highlighted:bg-sel pointer-coarse:min-h-11',
    danger && 'text-bad',
    checked && 'font-semibold text-accent',
  )
  return checked === undefined ? (
    <Radix.Item className={className} onSelect={choose}>
      {icon}
      {children}
    </Radix.Item>
  ) : (
    <Radix.CheckboxItem className={className} checked={checked} onSelect={choose}>
      {icon}
      {children}
    </Radix.CheckboxItem>
  )
}
