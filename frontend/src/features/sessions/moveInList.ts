import type { KeyboardEvent } from 'react'

/** The conversations, or the matches of a search. */
const links = (): HTMLElement[] => [
  ...document.querySelectorAll<HTMLElement>('#pane-left .scroll ul a[href]'),
]

/** Arrows, Home and End move through the list; from its pane and its search, the down arrow leads into it. */
export function moveInList(event: KeyboardEvent<HTMLElement>): void {
  const { key, target, currentTarget } = event
  if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.nativeEvent.isComposing)
    return
  const all = links()
  const at = all.indexOf(target as HTMLElement)
  const isAbove = target === currentTarget || (target as Element).matches('[role=search] input')
  const steps = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }
  const to =
    at >= 0
      ? all[steps[key as keyof typeof steps]]
      : isAbove && key === 'ArrowDown'
        ? (all.find(link => link.matches('[aria-current=page]')) ?? all[0])
        : undefined
  if (!to) return
  event.preventDefault()
  to.focus()
}
