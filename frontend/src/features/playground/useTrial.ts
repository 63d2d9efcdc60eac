/**
 * The current trial, stored in the address. The address is updated with a delay, because a slider moves faster than
 * browsers allow.
 */
import { useCallback, useEffect, useRef, useState } from 'react'
import { useLocation, useSearch } from 'wouter'
import { PLAYGROUND, playgroundHref, type Trial, trialOf } from '@/features/retrieval/address'

const PAUSE = 250

export function useTrial(): [Trial, (patch: Partial<Trial>) => void] {
  const search = useSearch()
  const [, navigate] = useLocation()
  const [trial, setTrial] = useState(() => trialOf(search))
  const written = useRef(search)

  // An address that was not written here came from a card, the palette or the back button.
  useEffect(() => {
    if (written.current === search) return
    written.current = search
    setTrial(trialOf(search))
  }, [search])

  useEffect(() => {
    const href = playgroundHref(trial)
    if (playgroundHref(trialOf(written.current)) === href) return
    const timer = setTimeout(() => {
      if (location.pathname !== PLAYGROUND) return
      written.current = href.slice(PLAYGROUND.length + 1)
      navigate(href, { replace: true })
    }, PAUSE)
    return () => clearTimeout(timer)
  }, [trial, navigate])

  const change = useCallback((patch: Partial<Trial>) => setTrial(now => ({ ...now, ...patch })), [])
  return [trial, change]
}
