import { create } from 'zustand'

export interface Toast {
  id: number
  text: string
  tone: 'plain' | 'bad'
  action?: { label: string; run: () => void }
}

interface Toasts {
  list: Toast[]
}

export const useToasts = create<Toasts>(() => ({ list: [] }))

let next = 1
/** Milliseconds: ten seconds with an action, such as an undo, five without. */
export const lifetime = (toast: Toast): number => (toast.action ? 10_000 : 5_000)

export function toast(text: string, options: Partial<Pick<Toast, 'tone' | 'action'>> = {}): void {
  const item: Toast = { id: next++, text, tone: 'plain', ...options }
  useToasts.setState(s => ({ list: [...s.list.slice(-2), item] }))
}

export const dismiss = (id: number): void =>
  useToasts.setState(s => ({ list: s.list.filter(item => item.id !== id) }))
