/** What the person has opened and closed by hand; a row that scrolls away and back keeps it. */
import { create } from 'zustand'

const useFolds = create<{ open: Record<string, boolean> }>(() => ({ open: {} }))

export const setFold = (id: string, open: boolean): void =>
  useFolds.setState(s => ({ open: { ...s.open, [id]: open } }))

/** The choice made by hand, or the given default until there is one. */
export function useFold(id: string, byDefault: boolean): [boolean, (open: boolean) => void] {
  const chosen = useFolds(s => s.open[id])
  return [chosen ?? byDefault, open => setFold(id, open)]
}

/** What was chosen by hand for each id. */
export const useFoldsByHand = (): Readonly<Record<string, boolean>> => useFolds(s => s.open)
