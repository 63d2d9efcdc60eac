/** How large text is and how dense lists are, in this browser. `public/boot.js` applies it before the first paint. */
import { useSyncExternalStore } from 'react'
import { store, stored } from './storage'

/** Pixels of the text of a conversation and of the editor. */
export const TEXT_SIZES = ['13', '14', '16', '18'] as const
export type TextSize = (typeof TEXT_SIZES)[number]
export type Density = 'normal' | 'compact'

const STANDARD: TextSize = '14'
const listeners = new Set<() => void>()
const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
const changed = () => {
  for (const listener of listeners) listener()
}

const getTextSize = (): TextSize => TEXT_SIZES.find(size => size === stored('text')) ?? STANDARD
const getDensity = (): Density => (stored('density') === 'compact' ? 'compact' : 'normal')

export function setTextSize(size: TextSize): void {
  store('text', size)
  document.documentElement.dataset.text = size
  changed()
}

export function setDensity(density: Density): void {
  store('density', density)
  document.documentElement.dataset.density = density
  changed()
}

export const useTextSize = (): TextSize => useSyncExternalStore(subscribe, getTextSize)
export const useDensity = (): Density => useSyncExternalStore(subscribe, getDensity)
