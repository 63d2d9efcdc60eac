import { ShieldQuestion, SlidersHorizontal } from 'lucide-react'
import type { ComponentProps } from 'react'
import { CommandIconButton } from '@/components/CommandButton'
import { PaneHeader } from '@/components/PaneHeader'
import { Spinner } from '@/components/ui/Spinner'

type Props = Omit<ComponentProps<typeof PaneHeader>, 'id' | 'children' | 'actions'> & {
  state: 'idle' | 'running' | 'approval'
}

export function ChatHeader({ state, ...rest }: Props) {
  return (
    <PaneHeader
      id="chat-title"
      actions={
        <CommandIconButton command="thisConversation">
          <SlidersHorizontal size={16} aria-hidden />
        </CommandIconButton>
      }
      {...rest}
    >
      {state === 'approval' && <ShieldQuestion size={15} aria-hidden className="shrink-0 text-warn" />}
      {state === 'running' && <Spinner className="text-accent" />}
    </PaneHeader>
  )
}
