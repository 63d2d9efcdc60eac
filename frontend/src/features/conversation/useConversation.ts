import { useQuery } from '@tanstack/react-query'
import { getConversation } from '@/api/conversations'
import { keys } from '@/api/queries'

/** A conversation as the server tells it, read again each time. */
export const useConversation = (id: string) =>
  useQuery({
    queryKey: keys.conversation(id),
    queryFn: () => getConversation(id),
    staleTime: 0,
    retry: false,
  })
