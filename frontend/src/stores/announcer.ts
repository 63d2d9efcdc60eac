/** What screen readers announce: events, never tokens. */
import { create } from 'zustand'

interface Said {
  text: string
  /** Interrupts what the screen reader is saying. */
  urgent: boolean
  /** Incremented with each announcement, so that repeated text is announced again. */
  n: number
}

export const useAnnouncer = create<Said>(() => ({ text: '', urgent: false, n: 0 }))
export const announce = (text: string, urgent = false): void =>
  useAnnouncer.setState(({ n }) => ({ text, urgent, n: n + 1 }))
