/**
 * Omits the parts of a long text that are far from the visible area of its box: they keep only their height. Each was
 * laid out once before, so that the visible text never moves.
 */
import { type RefObject, useEffect, useState } from 'react'

/** Distance beyond the box's edges that still counts as near, relative to the height of the box. */
const NEAR = '150%'

interface Watched {
  near: boolean
  /** Called with the height if the element may be omitted, with null if it must be rendered. */
  tell: (height: number | null) => void
}

const watched = new Map<Element, Watched>()
const observers = new WeakMap<Element, IntersectionObserver>()
let selecting = false

/**
 * Whether the element must stay: a selection can be copied and extended from where it began, and the focus is not
 * lost.
 */
const inUse = (element: Element): boolean =>
  document.getSelection()?.containsNode(element, true) || element.contains(document.activeElement)

function judge(element: Element, { near, tell }: Watched, height: number): void {
  // An element without a height has no layout: its pane is hidden.
  if (near || inUse(element)) tell(null)
  else if (height > 0) tell(height)
}

function observerOf(box: Element): IntersectionObserver {
  const known = observers.get(box)
  if (known) return known
  const look = (entries: IntersectionObserverEntry[]) => {
    for (const { target, isIntersecting, boundingClientRect } of entries) {
      const one = watched.get(target)
      if (!one) continue
      one.near = isIntersecting
      judge(target, one, boundingClientRect.height)
    }
  }
  const observer = new IntersectionObserver(look, { root: box, rootMargin: `${NEAR} 0px` })
  observers.set(box, observer)
  return observer
}

function onSelection(): void {
  const before = selecting
  selecting = document.getSelection()?.type === 'Range'
  if (!before && !selecting) return
  for (const [element, one] of watched) {
    if (!one.near) judge(element, one, element.getBoundingClientRect().height)
  }
}
document.addEventListener('selectionchange', onSelection)

/**
 * The height that the element keeps while it is omitted, null while it must be rendered. `content` is its content
 * once that is final, else null; without a scrolling box, everything stays.
 */
export function useOffscreen(ref: RefObject<Element | null>, content: unknown): number | null {
  const [height, setHeight] = useState<number | null>(null)
  useEffect(() => {
    const element = ref.current
    const box = element?.closest('.scroll')
    if (content === null || !element || !box) return
    const observer = observerOf(box)
    watched.set(element, { near: true, tell: setHeight })
    observer.observe(element)
    return () => {
      observer.unobserve(element)
      watched.delete(element)
      setHeight(null)
    }
  }, [ref, content])
  return height
}
