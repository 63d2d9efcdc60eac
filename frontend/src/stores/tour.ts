/** The tour. That a person has seen it is stored in this browser. */
import { create } from 'zustand'
import { store, stored } from '@/lib/storage'

interface Tour {
  /** The step that is shown; null while the tour is closed. */
  step: number | null
  seen: boolean
}

export const useTour = create<Tour>(() => ({ step: null, seen: stored('tour') === 'seen' }))

export const startTour = (): void => useTour.setState({ step: 0 })

export function leaveTour(): void {
  useTour.setState({ step: null, seen: true })
  store('tour', 'seen')
}
