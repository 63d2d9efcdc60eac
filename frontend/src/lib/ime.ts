/**
 * Enter that confirms a word in an input method must not send. Browsers report that in different ways: `isComposing`,
 * key code 229, or neither on the Enter that ends the composition; hence a flag of our own. It is cleared when that key
 * is released, or one task later if no key ended the composition. A busy browser can delay that task beyond the next key.
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
      onKeyUp: (event: KeyLike) => {
        if (!event.nativeEvent.isComposing) composing.current = false
      },
    },
    /** True if a key belongs to the input method. */
    owns: (event: KeyLike): boolean =>
      composing.current || event.nativeEvent.isComposing || event.keyCode === 229,
  }
}
