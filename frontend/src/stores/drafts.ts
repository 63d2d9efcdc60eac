/** Unsent text, one per session; it survives a reload. */
import { create } from 'zustand'
import { store, stored } from '@/lib/storage'

/** Key of the conversation that has no session yet. */
export const NEW = 'new'
const key = (session: string) => `draft.${session}`

interface Drafts {
  texts: Record<string, string>
}

export const useDrafts = create<Drafts>(() => ({ texts: {} }))

export const readDraft = (session: string): string =>
  useDrafts.getState().texts[session] ?? stored(key(session)) ?? ''

export const useDraft = (session: string): string =>
  useDrafts(s => s.texts[session]) ?? stored(key(session)) ?? ''

export function setDraft(session: string, text: string): void {
  useDrafts.setState(s => ({ texts: { ...s.texts, [session]: text } }))
  store(key(session), text === '' ? null : text)
}
