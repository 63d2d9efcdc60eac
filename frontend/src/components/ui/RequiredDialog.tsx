import { Dialog as Radix } from 'radix-ui'
import type { ReactNode } from 'react'

interface Props {
  title: ReactNode
  description: string
  children: ReactNode
}

const prevent = (event: Event): void => event.preventDefault()

/** A dialog above everything else, toasts included. It ends only when its parent removes it: Esc does not close it. */
export function RequiredDialog({ title, description, children }: Props) {
  return (
    <Radix.Root open>
      <Radix.Portal>
        <Radix.Content
          onEscapeKeyDown={prevent}
          onInteractOutside={prevent}
          className="floating appear fixed inset-0 z-[70] scroll m-auto h-fit max-h-[94dvh] w-[min(380px,94vw)] space-y-3 rounded-xl p-5"
        >
          <Radix.Title className="flex items-center gap-2 font-semibold text-[15px]">{title}</Radix.Title>
          <Radix.Description className="text-[13px] text-fg-2">{description}</Radix.Description>
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}
