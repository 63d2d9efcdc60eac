import { Dialog as Radix } from 'radix-ui'
import type { ReactNode } from 'react'

interface Props {
  open: boolean
  onOpenChange: (open: boolean) => void
  title: string
  children: ReactNode
}

/** A pane that slides over the page from the right. */
export default function Sheet({ open, onOpenChange, title, children }: Props) {
  return (
    <Radix.Root open={open} onOpenChange={onOpenChange}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-30 bg-black/25" />
        <Radix.Content
          aria-describedby={undefined}
          data-sheet
          className="slide-in fixed inset-y-2 right-2 z-40 flex w-[min(460px,92vw)] flex-col rounded-xl bg-[var(--pane-solid)]"
        >
          <Radix.Title className="sr-only">{title}</Radix.Title>
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}
