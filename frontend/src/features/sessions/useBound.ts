import { skipToken, useQuery } from '@tanstack/react-query'
import { listBound } from '@/api/conversations'
import { keys } from '@/api/queries'

/** Ids of the conversations that are bound to a project; nothing without one. */
export const useBound = (project: string | null) =>
  useQuery({
    queryKey: keys.bound(project ?? ''),
    queryFn: project === null ? skipToken : () => listBound(project),
  })
