import { onDemand } from '@/components/onDemand'

export const Trust = onDemand(() => import('./TrustBanner'))
