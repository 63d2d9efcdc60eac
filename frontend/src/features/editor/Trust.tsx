import { type ComponentProps, lazy, Suspense } from 'react'

const TrustBanner = lazy(() => import('./TrustBanner'))

export function Trust(props: ComponentProps<typeof TrustBanner>) {
  return (
    <Suspense fallback={null}>
      <TrustBanner {...props} />
    </Suspense>
  )
}
