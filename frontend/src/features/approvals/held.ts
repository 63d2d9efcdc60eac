/** The pending calls whose time to answer stands still, because this page is in view. */
import { create } from 'zustand'

export const useHeld = create<{ ids: ReadonlySet<string> }>(() => ({ ids: new Set() }))

export const setHeld = (ids: Iterable<string>): void => useHeld.setState({ ids: new Set(ids) })
