/** What mounted components of one kind expose to code outside React, by id. */
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

/**
 * Exposes the values of the last render while the component is mounted. The object that others get stays the same.
 */
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
