import { type RefObject, useEffect } from 'react'

/** Moves the focus into a form that takes the place of another view: what had it is gone. */
export function useFirstField(box: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    // On a touch screen the field would open the keyboard over the form.
    const touch = matchMedia('(pointer: coarse)').matches
    const field = box.current?.querySelector<HTMLElement>(touch ? 'button' : '[data-field]')
    field?.focus({ preventScroll: true })
  }, [box])
}
