import { useAnnouncer } from '@/stores/announcer'

/** The one place that a screen reader hears events from. */
export function StatusRegion() {
  const text = useAnnouncer(s => s.text)
  return (
    <div role="status" aria-live="polite" className="sr-only">
      {text}
    </div>
  )
}
