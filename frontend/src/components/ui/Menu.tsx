import { DropdownMenu } from 'radix-ui'
import type { ReactNode } from 'react'
import { cn } from '@/lib/cn'

interface MenuProps {
  trigger: ReactNode
  /** The edge of the trigger that the menu is aligned with. */
  align?: 'start' | 'end'
  children: ReactNode
}

export function Menu({ trigger, align = 'end', children }: MenuProps) {
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      {/* Inside the landmark, so that a screen reader that navigates by landmarks reaches it. */}
      <DropdownMenu.Portal container={document.querySelector('main')}>
        <DropdownMenu.Content
          align={align}
          sideOffset={4}
          collisionPadding={8}
          className="floating z-50 min-w-40 rounded-lg p-1"
        >
          {children}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  )
}

interface ItemProps {
  icon: ReactNode
  onSelect: () => void
  danger?: boolean
  /** Set for one of several choices: whether it is the current one. */
  checked?: boolean
  children: ReactNode
}

export function MenuItem({ icon, onSelect, danger, checked, children }: ItemProps) {
  const className = cn(
    'flex cursor-pointer items-center gap-2 rounded-md px-2 py-1.5 text-[13px] outline-none data-highlighted:bg-sel pointer-coarse:py-2.5',
    danger && 'text-bad',
    checked && 'font-semibold text-accent',
  )
  return checked === undefined ? (
    <DropdownMenu.Item className={className} onSelect={onSelect}>
      {icon}
      {children}
    </DropdownMenu.Item>
  ) : (
    <DropdownMenu.CheckboxItem className={className} checked={checked} onSelect={onSelect}>
      {icon}
      {children}
    </DropdownMenu.CheckboxItem>
  )
}
