/** What the person has expanded and collapsed; a row that is scrolled out of view keeps its state. */
import { create } from 'zustand'

export const useFolds = create<{ open: Record<string, boolean> }>(() => ({ open: {} }))

export const setFold = (id: string, open: boolean): void =>
  useFolds.setState(s => ({ open: { ...s.open, [id]: open } }))

/** The person's choice, or the given default until there is one. */
export function useFold(id: string, byDefault: boolean): [boolean, (open: boolean) => void] {
  const chosen = useFolds(s => s.open[id])
  return [chosen ?? byDefault, open => setFold(id, open)]
}

/** The same outside a component. */
export const isOpen = (id: string, byDefault: boolean): boolean => useFolds.getState().open[id] ?? byDefault

/** The person's choices, by id. */
export const useFoldsByHand = (): Readonly<Record<string, boolean>> => useFolds(s => s.open)
