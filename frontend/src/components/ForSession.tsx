import { type ReactNode, useMemo } from 'react'
import { CommandProvider, useCommandContext } from '@/app/commandContext'

interface Props {
  sessionId: string
  children: ReactNode
}

/** Commands of the components below act on this session and not on the open one. */
export function ForSession({ sessionId, children }: Props) {
  const page = useCommandContext()
  const context = useMemo(() => ({ ...page, sessionId }), [page, sessionId])
  return <CommandProvider value={context}>{children}</CommandProvider>
}
