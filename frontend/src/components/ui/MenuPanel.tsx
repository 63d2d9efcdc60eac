import { Menu as Radix } from 'radix-ui/internal'
import { type ReactNode, type RefObject, useEffect, useRef } from 'react'
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

/** An open menu next to its trigger. */
export default function MenuPanel({ id, trigger, align, byKey, onClose, children }: Props) {
  const pressedOutside = useRef(false)
  return (
    <Radix.Root open modal={false} onOpenChange={open => !open && onClose()}>
      <Radix.Anchor virtualRef={trigger as RefObject<HTMLButtonElement>} />
      {/* Inside the landmark, so that a screen reader that navigates by landmarks reaches it. */}
      <Radix.Portal container={document.querySelector('main')}>
        <Radix.Content
          id={id}
          aria-labelledby={trigger.current?.id}
          align={align}
          sideOffset={4}
          collisionPadding={8}
          className="floating z-50 min-w-40 rounded-lg p-1"
          onInteractOutside={() => {
            pressedOutside.current = true
          }}
          onCloseAutoFocus={event => {
            event.preventDefault()
            if (!pressedOutside.current) trigger.current?.focus()
          }}
        >
          <ItemView value={Item}>{children}</ItemView>
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
  const className = cn(
    'flex cursor-pointer items-center gap-2 rounded-md px-2 py-1.5 text-[13px] outline-none data-highlighted:bg-sel pointer-coarse:py-2.5',
    danger && 'text-bad',
    checked && 'font-semibold text-accent',
  )
  return checked === undefined ? (
    <Radix.Item className={className} onSelect={onSelect}>
      {icon}
      {children}
    </Radix.Item>
  ) : (
    <Radix.CheckboxItem className={className} checked={checked} onSelect={onSelect}>
      {icon}
      {children}
    </Radix.CheckboxItem>
  )
}
