/**
 * Parts of a long text that are far from what its box shows are left out: they keep their height and nothing else.
 * Each was laid out once before, so what is looked at never moves for it.
 */
import { type RefObject, useEffect, useState } from 'react'

/** How far beyond the box's edges is still near, in heights of the box. */
const NEAR = '150%'

interface Watched {
  near: boolean
  /** Told the height when it may go, null when it must be there. */
  tell: (height: number | null) => void
}

const watched = new Map<Element, Watched>()
const observers = new WeakMap<Element, IntersectionObserver>()
let selecting = false

/** What is selected can be copied, a selection can be carried on from where it began, and the focus is not lost. */
const inUse = (element: Element): boolean =>
  document.getSelection()?.containsNode(element, true) || element.contains(document.activeElement)

function judge(element: Element, { near, tell }: Watched, height: number): void {
  // Without a height it is not laid out at all: its pane is hidden.
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
 * The height that the element keeps while it is left out, null while it has to be there. `content` is what stands in it
 * and changes no more, or null as long as it may; without a box that scrolls, everything stays.
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
