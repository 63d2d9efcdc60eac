/** What the components of one kind that are on the page just now offer to code outside React, by an id. */
import { useEffect, useRef } from 'react'

export interface Mounted<T> {
  get: (id: string) => T | null
  all: () => T[]
  set: (id: string, offered: T) => void
  delete: (id: string, offered: T) => void
}

export function mounted<T>(): Mounted<T> {
  const offers = new Map<string, T>()
  return {
    get: id => offers.get(id) ?? null,
    all: () => [...offers.values()],
    set: (id, offered) => void offers.set(id, offered),
    delete: (id, offered) => {
      if (offers.get(id) === offered) offers.delete(id)
    },
  }
}

/** Offers what the last render made for as long as the component is on the page. The object that others get stays the same. */
export function useMounted<T extends object>(registry: Mounted<T>, id: string, offered: T): void {
  const latest = useRef(offered)
  useEffect(() => {
    latest.current = offered
  })
  useEffect(() => {
    const proxy = new Proxy({} as T, { get: (_, name) => Reflect.get(latest.current, name) })
    registry.set(id, proxy)
    return () => registry.delete(id, proxy)
  }, [registry, id])
}
