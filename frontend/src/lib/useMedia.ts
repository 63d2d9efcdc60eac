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
