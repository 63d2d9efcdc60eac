import { type ComponentType, createContext, type ReactNode } from 'react'

export interface MenuItemProps {
  icon: ReactNode
  onSelect: () => void
  danger?: boolean
  /** Set for one of several choices: whether it is the current one. */
  checked?: boolean
  children: ReactNode
}

/** Renders the items of an open menu; its code is loaded with the menu. */
export const ItemView = createContext<ComponentType<MenuItemProps> | null>(null)
