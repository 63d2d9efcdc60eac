import { ShieldQuestion } from 'lucide-react'
import type { ComponentProps } from 'react'
import { PaneHeader } from '@/components/PaneHeader'

type Props = Omit<ComponentProps<typeof PaneHeader>, 'id' | 'children'> & {
  state: 'idle' | 'running' | 'approval'
}

export function ChatHeader({ state, ...rest }: Props) {
  return (
    <PaneHeader id="chat-title" {...rest}>
      {state === 'approval' && <ShieldQuestion size={15} aria-hidden className="shrink-0 text-warn" />}
      {state === 'running' && (
        <span
          aria-hidden
          className="spin size-3.5 shrink-0 rounded-full border-2 border-accent border-t-transparent"
        />
      )}
    </PaneHeader>
  )
}
