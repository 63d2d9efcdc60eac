/** The servers of the cluster. */
import { useQuery } from '@tanstack/react-query'
import { getCluster } from './endpoints'

/** Asks again and again, as long as somebody looks at them. */
export const useCluster = () =>
  useQuery({ queryKey: ['cluster'], queryFn: getCluster, staleTime: 0, retry: false, refetchInterval: 5_000 })
