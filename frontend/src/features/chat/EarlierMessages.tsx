import { useEffect, useRef, useState } from 'react'
import { loadEarlier } from '@/app/threads'
import { Button } from '@/components/ui/Button'
import { useT } from '@/lib/i18n'

interface Props {
  sessionId: string
  /** Number of messages that are not loaded yet. */
  count: number
}

/** Pixels above the view within which the messages are loaded, so that a reader mostly finds them there. */
const AHEAD = 800

/** The line above the first message that is shown: loads those before it when it comes near. */
export default function EarlierMessages({ sessionId, count }: Props) {
  const t = useT()
  const line = useRef<HTMLDivElement>(null)
  const [loading, setLoading] = useState(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new observer after each page, as the line may still be near
  useEffect(() => {
    const element = line.current
    if (!element) return
    const near = { root: element.closest('[role=log]'), rootMargin: `${AHEAD}px 0px 0px` }
    const observer = new IntersectionObserver(([seen]) => {
      if (!seen?.isIntersecting) return
      setLoading(true)
      void loadEarlier(sessionId, 'page').finally(() => setLoading(false))
    }, near)
    observer.observe(element)
    return () => observer.disconnect()
  }, [sessionId, count])
  return (
    <div ref={line} className="flex justify-center pb-3">
      <Button
        size="small"
        look="ghost"
        disabled={loading}
        onClick={() => void loadEarlier(sessionId, 'page')}
      >
        {t(loading ? 'loadingEarlier' : 'earlierMessages', { n: count })}
      </Button>
    </div>
  )
}
