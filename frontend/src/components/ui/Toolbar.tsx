import { type FocusEvent, type KeyboardEvent, type ReactNode, type RefObject, useEffect, useRef } from 'react'
import { cn } from '@/lib/cn'

interface Props {
  label: string
  className?: string
  children: ReactNode
}

/** Buttons that share one stop of the Tab key: ← and → move from one to the next, Home and End to the first and last. */
export function Toolbar({ label, className, children }: Props) {
  const bar = useRef<HTMLDivElement>(null)
  return (
    <div
      ref={bar}
      role="toolbar"
      aria-label={label}
      className={cn('flex', className)}
      {...useRovingStop(bar)}
      onKeyDown={event => moveInBar(event, buttonsOf(bar.current))}
    >
      {children}
    </div>
  )
}

const buttonsOf = (bar: HTMLElement | null): HTMLButtonElement[] => [
  ...(bar?.querySelectorAll<HTMLButtonElement>('button:not(:disabled)') ?? []),
]

function moveInBar(event: KeyboardEvent, buttons: HTMLButtonElement[]): void {
  if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return
  const at = buttons.indexOf(document.activeElement as HTMLButtonElement)
  const last = buttons.length - 1
  const next = {
    ArrowRight: at === last ? 0 : at + 1,
    ArrowLeft: at <= 0 ? last : at - 1,
    Home: 0,
    End: last,
  }[event.key]
  if (at < 0 || next === undefined) return
  // Home and End would scroll the conversation too.
  event.preventDefault()
  buttons[next]?.focus()
}

/** The button of a toolbar that Tab leads to, and its place. */
interface Stop {
  button: HTMLButtonElement | null
  at: number
}

/** Makes only one button reachable with Tab: that of `stop`, or the one that is in its place if it went away. */
function settle(bar: HTMLElement, stop: Stop): Stop {
  const buttons = buttonsOf(bar)
  const found = stop.button ? buttons.indexOf(stop.button) : -1
  const at = found < 0 ? Math.max(0, Math.min(stop.at, buttons.length - 1)) : found
  for (const [i, button] of buttons.entries()) button.tabIndex = i === at ? 0 : -1
  return { button: buttons[at] ?? null, at }
}

/** Tab leads to the button that had the focus last. */
function useRovingStop(bar: RefObject<HTMLElement | null>) {
  const stop = useRef<Stop>({ button: null, at: 0 })
  useEffect(() => {
    const element = bar.current
    if (!element) return
    const look = () => {
      stop.current = settle(element, stop.current)
    }
    look()
    // A button may come, go or be disabled without a change of its toolbar.
    const observer = new MutationObserver(look)
    observer.observe(element, { childList: true, subtree: true, attributeFilter: ['disabled'] })
    return () => observer.disconnect()
  }, [bar])
  return {
    onFocus: ({ currentTarget, target }: FocusEvent<HTMLElement>) => {
      stop.current = settle(currentTarget, { button: target.closest('button'), at: 0 })
    },
  }
}
