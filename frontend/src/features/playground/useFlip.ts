/**
 * Animates rows that change their position, so that the eye can follow. Respects the preference for reduced motion.
 */
import { type RefObject, useLayoutEffect, useRef } from 'react'

const GLIDE = { duration: 180, easing: 'ease-out' } as const

/** Animates the children with `data-row` when `order` changes. */
export function useFlip(list: RefObject<HTMLElement | null>, order: string): void {
  const before = useRef<{ order: string; tops: Map<string, number> }>(null)
  useLayoutEffect(() => {
    const still = matchMedia('(prefers-reduced-motion: reduce)').matches
    const last = before.current
    const tops = new Map<string, number>()
    for (const row of list.current?.querySelectorAll<HTMLElement>('[data-row]') ?? []) {
      const key = row.dataset.row ?? ''
      const top = row.offsetTop
      const from = last?.tops.get(key)
      tops.set(key, top)
      if (still || !last || last.order === order || from === undefined || from === top) continue
      row.animate([{ transform: `translateY(${from - top}px)` }, { transform: 'none' }], GLIDE)
    }
    before.current = { order, tops }
  })
}
