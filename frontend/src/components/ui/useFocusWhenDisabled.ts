import { type ComponentProps, type FocusEvent, type MouseEvent, useState } from 'react'

type Props = Pick<ComponentProps<'button'>, 'disabled' | 'onFocus' | 'onBlur' | 'onClick'>

/**
 * A button that is disabled while it has the focus keeps it until the person moves on: an element with `disabled` cannot
 * have the focus, and whoever pressed “Save” would find themselves at the top of the page. Until then it is disabled by
 * `aria-disabled`.
 */
export function useFocusWhenDisabled({ disabled, onFocus, onBlur, onClick }: Props) {
  const [focused, setFocused] = useState(false)
  const held = Boolean(disabled) && focused
  return {
    disabled: disabled && !held,
    'aria-disabled': held || undefined,
    onFocus: (event: FocusEvent<HTMLButtonElement>) => {
      setFocused(true)
      onFocus?.(event)
    },
    onBlur: (event: FocusEvent<HTMLButtonElement>) => {
      setFocused(false)
      onBlur?.(event)
    },
    onClick: (event: MouseEvent<HTMLButtonElement>) => (held ? event.preventDefault() : onClick?.(event)),
  } satisfies ComponentProps<'button'>
}
