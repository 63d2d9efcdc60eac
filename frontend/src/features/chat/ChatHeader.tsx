import { ShieldQuestion } from 'lucide-react'
import type { ComponentProps } from 'react'
import { PaneHeader } from '@/components/PaneHeader'
import { Spinner } from '@/components/ui/Spinner'

type Props = Omit<ComponentProps<typeof PaneHeader>, 'id' | 'children'> & {
  state: 'idle' | 'running' | 'approval'
}

export function ChatHeader({ state, ...rest }: Props) {
  return (
    <PaneHeader id="chat-title" {...rest}>
      {state === 'approval' && <ShieldQuestion size={15} aria-hidden className="shrink-0 text-warn" />}
      {state === 'running' && <Spinner className="text-accent" />}
    </PaneHeader>
  )
}
