import { useCallback, useSyncExternalStore } from 'react'

export function useMedia(query: string): boolean {
  const subscribe = useCallback(
    (listener: () => void) => {
      const media = matchMedia(query)
      media.addEventListener('change', listener)
      return () => media.removeEventListener('change', listener)
    },
    [query],
  )
  return useSyncExternalStore(subscribe, () => matchMedia(query).matches)
}

/**
 * Keys on the screen have no Shift+Enter: there Enter makes a line. Beside a mouse or a pad there is a keyboard; some
 * phones say that they have a mouse, hence the width.
 */
const SCREEN_KEYS =
  '(pointer: coarse) and (max-width: 767px), (pointer: coarse) and (not (any-pointer: fine))'

/** Somebody writes with keys on the screen. */
export const useScreenKeys = (): boolean => useMedia(SCREEN_KEYS)

export type Width = 'wide' | 'medium' | 'narrow'

/** Three panes, two panes and a sheet, or one pane with a bar. */
export function useWidth(): Width {
  const wide = useMedia('(min-width: 1024px)')
  const medium = useMedia('(min-width: 768px)')
  return wide ? 'wide' : medium ? 'medium' : 'narrow'
}

const onVisibility = (listener: () => void) => {
  document.addEventListener('visibilitychange', listener)
  return () => document.removeEventListener('visibilitychange', listener)
}

/** Nobody looks at this tab just now. */
export const useHidden = (): boolean => useSyncExternalStore(onVisibility, () => document.hidden)
