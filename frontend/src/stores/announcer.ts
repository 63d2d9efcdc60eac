/** What a screen reader hears of: events, never tokens. */
import { create } from 'zustand'

interface Said {
  text: string
  /** It must not wait until the reader has finished. */
  urgent: boolean
  /** Grows with each: the same words said again are news again. */
  n: number
}

export const useAnnouncer = create<Said>(() => ({ text: '', urgent: false, n: 0 }))
export const announce = (text: string, urgent = false): void =>
  useAnnouncer.setState(({ n }) => ({ text, urgent, n: n + 1 }))
