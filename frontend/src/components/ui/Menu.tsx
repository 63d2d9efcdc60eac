import {
  type ComponentProps,
  cloneElement,
  type KeyboardEvent,
  type PointerEvent,
  type ReactElement,
  type ReactNode,
  use,
  useEffect,
  useId,
  useRef,
  useState,
} from 'react'
import { whenIdle } from '@/lib/idle'
import { onDemand } from '../onDemand'
import { ItemView, type MenuItemProps } from './menuParts'

const PANELS = {
  menu: onDemand(() => import('./MenuPanel')),
  listbox: onDemand(() => import('./ListPanel')),
}

interface MenuProps {
  /** A button without handlers of its own. */
  trigger: ReactElement<ComponentProps<'button'>>
  /** The edge of the trigger that the menu is aligned with. */
  align?: 'start' | 'end'
  /** What opens: a menu of items, or a `ChoiceList`, which may have a field to filter it. */
  opens?: keyof typeof PANELS
  children: ReactNode
}

/** A button and its menu. The menu is loaded when the page is idle; if it is opened before, it opens when it is there. */
export function Menu({ trigger, align = 'end', opens = 'menu', children }: MenuProps) {
  const MenuPanel = PANELS[opens]
  const [openedBy, setOpenedBy] = useState<'key' | 'pointer' | null>(null)
  const button = useRef<HTMLButtonElement>(null)
  const id = useId()
  const open = openedBy !== null
  useEffect(() => whenIdle(MenuPanel.preload), [MenuPanel])
  const onPointerDown = (event: PointerEvent) => {
    if (event.button !== 0 || event.ctrlKey) return
    if (!open) event.preventDefault()
    setOpenedBy(open ? null : 'pointer')
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') setOpenedBy(null)
    // With these, the key belongs to a shortcut.
    if (event.altKey || event.ctrlKey || event.metaKey) return
    if (!['Enter', ' ', 'ArrowDown'].includes(event.key)) return
    event.preventDefault()
    setOpenedBy(open && event.key !== 'ArrowDown' ? null : 'key')
  }
  return (
    <>
      {cloneElement(trigger, {
        ref: button,
        id: `${id}trigger`,
        'aria-haspopup': opens,
        'aria-expanded': open,
        'aria-controls': open ? id : undefined,
        onPointerEnter: MenuPanel.preload,
        onFocus: MenuPanel.preload,
        onPointerDown,
        onKeyDown,
      })}
      {open && (
        <MenuPanel
          id={id}
          trigger={button}
          align={align}
          byKey={openedBy === 'key'}
          onClose={() => setOpenedBy(null)}
        >
          {children}
        </MenuPanel>
      )}
    </>
  )
}

export function MenuItem(props: MenuItemProps) {
  const Item = use(ItemView)
  return Item && <Item {...props} />
}
