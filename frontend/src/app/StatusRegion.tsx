import { useAnnouncer } from '@/stores/announcer'

/** The one place that a screen reader hears events from, and the one for what went wrong. */
export function StatusRegion() {
  const { text, urgent, n } = useAnnouncer()
  const words = <span key={n}>{text}</span>
  return (
    <>
      <div role="status" aria-live="polite" className="sr-only">
        {!urgent && words}
      </div>
      <div aria-live="assertive" className="sr-only">
        {urgent && words}
      </div>
    </>
  )
}
