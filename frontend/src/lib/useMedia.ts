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
 * On-screen keyboards have no Shift+Enter, so Enter inserts a line break there. A device with a mouse or touchpad has
 * a keyboard; some phones claim to have a mouse, hence the width.
 */
const SCREEN_KEYS =
  '(pointer: coarse) and (max-width: 767px), (pointer: coarse) and (not (any-pointer: fine))'

/** Whether the person types on an on-screen keyboard. */
export const useScreenKeys = (): boolean => useMedia(SCREEN_KEYS)

export type Width = 'wide' | 'medium' | 'narrow'

/** Three panes, two panes and a sheet, or one pane with a bar. */
export function useWidth(): Width {
  const wide = useMedia('(min-width: 1200px)')
  const medium = useMedia('(min-width: 768px)')
  return wide ? 'wide' : medium ? 'medium' : 'narrow'
}

const onVisibility = (listener: () => void) => {
  document.addEventListener('visibilitychange', listener)
  return () => document.removeEventListener('visibilitychange', listener)
}

/** Whether this tab is hidden. */
export const useHidden = (): boolean => useSyncExternalStore(onVisibility, () => document.hidden)
