import { type FocusEvent, type RefObject, useEffect, useRef } from 'react'

/**
 * Keeps the focus in a pane when what has it goes away and nothing else takes it: its message has it then, or the pane.
 * Otherwise the document would have it, and a person would start again at the top of the page. Returns the handlers of
 * the pane.
 */
export function useKeptFocus(pane: RefObject<HTMLElement | null>) {
  const last = useRef<{ element: Element; message: HTMLElement | null } | null>(null)
  useEffect(() => {
    const element = pane.current
    if (!element) return
    const keep = (message: HTMLElement | null) => {
      if (document.activeElement !== document.body) return
      const there = [message, element, document.getElementById('pane-chat')].find(it => it?.isConnected)
      there?.focus({ preventScroll: true })
    }
    const look = () => {
      if (!last.current || last.current.element.isConnected) return
      const { message } = last.current
      last.current = null
      // What replaces it comes first.
      requestAnimationFrame(() => keep(message))
    }
    const observer = new MutationObserver(look)
    observer.observe(element, { childList: true, subtree: true })
    return () => {
      observer.disconnect()
      look()
    }
  }, [pane])
  return {
    onFocus: ({ target }: FocusEvent) => {
      last.current = { element: target, message: target.closest<HTMLElement>('article[tabindex]') }
    },
    // Not called for what goes away: React mutes events while it changes the document.
    onBlur: () => {
      last.current = null
    },
  }
}
