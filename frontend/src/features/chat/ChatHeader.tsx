import type { ComponentProps } from 'react'
import { PaneHeader } from '@/components/PaneHeader'

type Props = Omit<ComponentProps<typeof PaneHeader>, 'id' | 'children'> & { running: boolean }

export function ChatHeader({ running, ...rest }: Props) {
  return (
    <PaneHeader id="chat-title" {...rest}>
      {running && (
        <span
          aria-hidden
          className="spin size-3.5 shrink-0 rounded-full border-2 border-accent border-t-transparent"
        />
      )}
    </PaneHeader>
  )
}
