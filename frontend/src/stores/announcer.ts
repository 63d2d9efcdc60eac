/** The one polite status region speaks events, never tokens. */
import { create } from 'zustand'

export const useAnnouncer = create<{ text: string }>(() => ({ text: '' }))
export const announce = (text: string): void => useAnnouncer.setState({ text })
