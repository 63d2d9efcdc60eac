import { useSyncExternalStore } from 'react'
import { store, stored } from './storage'

export type Theme = 'light' | 'dark' | 'system'

const prefersDark = matchMedia('(prefers-color-scheme: dark)')

export const getTheme = (): Theme => {
  const theme = stored('theme')
  return theme === 'light' || theme === 'dark' ? theme : 'system'
}

function paint(theme: Theme): void {
  const dark = theme === 'dark' || (theme === 'system' && prefersDark.matches)
  document.documentElement.dataset.theme = dark ? 'dark' : 'light'
}

export function setTheme(theme: Theme): void {
  store('theme', theme)
  paint(theme)
  for (const listener of listeners) listener()
}

const listeners = new Set<() => void>()
const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** The theme that the person has chosen, wherever they chose it. */
export const useTheme = (): Theme => useSyncExternalStore(subscribe, getTheme)

/** Follows the system while the person has not chosen. */
prefersDark.addEventListener('change', () => paint(getTheme()))
