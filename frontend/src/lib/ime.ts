/**
 * Enter that confirms a word in an input method must not send. Browsers disagree on how they say so: `isComposing`,
 * key code 229, or neither on the very Enter that ends the composition; hence an own flag, cleared one task later.
 */
import { useRef } from 'react'

interface KeyLike {
  key: string
  keyCode: number
  nativeEvent: { isComposing: boolean }
}

export function useComposition() {
  const composing = useRef(false)
  return {
    handlers: {
      onCompositionStart: () => {
        composing.current = true
      },
      onCompositionEnd: () => {
        setTimeout(() => {
          composing.current = false
        })
      },
    },
    /** True while a key belongs to the input method. */
    owns: (event: KeyLike): boolean =>
      composing.current || event.nativeEvent.isComposing || event.keyCode === 229,
  }
}
