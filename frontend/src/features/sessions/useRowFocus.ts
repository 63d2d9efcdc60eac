import { type FocusEvent, useLayoutEffect, useRef } from 'react'

const rowOf = (element: Element | null): HTMLElement | null =>
  element?.closest<HTMLElement>('[data-session]') ?? null

/** The link of each row, or the field that renames its conversation. */
const targets = (): HTMLElement[] => [
  ...document.querySelectorAll<HTMLElement>('#pane-left [data-session] :is(a[href], input)'),
]

/**
 * Keeps the focus in the list of conversations when what has it goes away: a row that moves, a field that renames it,
 * or a conversation that leaves the list, after which the next one has the focus. Returns the handlers of each row.
 */
export function useRowFocus() {
  const last = useRef<{ id: string | undefined; at: number } | null>(null)
  useLayoutEffect(() => {
    if (!last.current) return
    const { id, at } = last.current
    if (document.activeElement === document.body) {
      const all = targets()
      const same = all.find(target => rowOf(target)?.dataset.session === id)
      const next = same ?? all[Math.min(at, all.length - 1)] ?? document.getElementById('pane-left')
      next?.focus()
    }
    if (!rowOf(document.activeElement)) last.current = null
  })
  return {
    onFocus: ({ target }: FocusEvent) => {
      const row = rowOf(target)
      // A menu of a row is elsewhere in the document.
      last.current = row && {
        id: row.dataset.session,
        at: targets().findIndex(other => row.contains(other)),
      }
    },
    // Not called for what goes away: React mutes events while it changes the document.
    onBlur: () => {
      last.current = null
    },
  }
}
