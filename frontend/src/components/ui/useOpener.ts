import { useRef } from 'react'

/** Gives the focus back to what had it when a dialog without a trigger opened, or else to an element that is there. */
export function useOpener(otherwise?: () => HTMLElement | null) {
  const opener = useRef<Element | null>(null)
  return {
    remember: () => {
      opener.current = document.activeElement
    },
    onCloseAutoFocus: (event: Event) => {
      // What was chosen in the dialog may have moved the focus already.
      if (document.activeElement !== document.body) return event.preventDefault()
      const element = opener.current
      const there = element instanceof HTMLElement && element.isConnected && element !== document.body
      const target = there ? element : otherwise?.()
      if (!target) return
      event.preventDefault()
      target.focus()
    },
  }
}
