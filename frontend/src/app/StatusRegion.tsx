import { useAnnouncer } from '@/stores/announcer'

/** The two live regions of the page for screen readers: a polite one for events, and an assertive one for errors. */
export function StatusRegion() {
  const text = useAnnouncer(said => said.text)
  const urgent = useAnnouncer(said => said.urgent)
  const n = useAnnouncer(said => said.n)
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
