import { Popover } from 'radix-ui'
import { createContext, type ReactNode, type RefObject, useRef } from 'react'

interface Props {
  id: string
  trigger: RefObject<HTMLButtonElement | null>
  align: 'start' | 'end'
  onClose: () => void
  children: ReactNode
}

/** Closes the panel with the focus on its trigger, then runs an action. */
export const ChooseContext = createContext<(run: () => void) => void>(run => run())

/** An open `ChoiceList` next to its trigger. It takes the focus itself. */
export default function ListPanel({ id, trigger, align, onClose, children }: Props) {
  const pressedOutside = useRef(false)
  const choose = (run: () => void) => {
    trigger.current?.focus()
    onClose()
    run()
  }
  return (
    <Popover.Root open onOpenChange={open => !open && onClose()}>
      <Popover.Anchor virtualRef={trigger as RefObject<HTMLButtonElement>} />
      {/* Inside the landmark or the dialog, like a menu. */}
      <Popover.Portal container={trigger.current?.closest('[role=dialog]') ?? document.querySelector('main')}>
        <Popover.Content
          id={id}
          role="group"
          aria-labelledby={trigger.current?.id}
          align={align}
          sideOffset={4}
          collisionPadding={8}
          className="floating z-50 w-[min(320px,92vw)] rounded-lg p-1"
          onOpenAutoFocus={event => event.preventDefault()}
          onInteractOutside={event => {
            // The trigger closes it.
            if (trigger.current?.contains(event.target as Node)) event.preventDefault()
            else pressedOutside.current = true
          }}
          onCloseAutoFocus={event => {
            event.preventDefault()
            if (!pressedOutside.current && document.activeElement === document.body) trigger.current?.focus()
          }}
        >
          <ChooseContext value={choose}>{children}</ChooseContext>
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  )
}
