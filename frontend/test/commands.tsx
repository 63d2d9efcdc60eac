import { QueryClientProvider } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { queryClient } from '@/api/queries'
import type { CommandContext } from '@/app/command'
import { CommandProvider } from '@/app/commandContext'

/** The context in which commands run on a wide page with this conversation. */
export const contextOf = (sessionId: string | null = null): CommandContext => ({
  sessionId,
  width: 'wide',
  input: { current: null },
  navigate: () => {},
})

interface Props {
  sessionId?: string | null
  children: ReactNode
}

/** What components need around them: the cache, and the context in which commands run. */
export const Page = ({ sessionId = null, children }: Props) => (
  <QueryClientProvider client={queryClient}>
    <CommandProvider value={contextOf(sessionId)}>{children}</CommandProvider>
  </QueryClientProvider>
)
