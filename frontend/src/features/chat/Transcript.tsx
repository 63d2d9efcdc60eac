import { useVirtualizer } from '@tanstack/react-virtual'
import { ArrowDown } from 'lucide-react'
import { memo, type ReactNode, useEffect, useRef, useState } from 'react'
import { Sought } from '@/components/markdown/sought'
import { Button } from '@/components/ui/Button'
import { useT } from '@/lib/i18n'
import { whenIdle } from '@/lib/idle'

/** Pixels. Within this distance the reader counts as being at the end, and new text is followed. */
const NEAR_END = 80

export interface Row {
  key: string
  label: string
  /** Estimated height in px, until the row is measured. */
  estimate: number
  body: ReactNode
}

interface Props {
  rows: Row[]
  /** Key of the message that the person sent last, until it is forgotten. */
  sent: string | null
  /** Key of the row to show and mark. */
  target: string | null
  /** The search words that led to that row, if any. */
  sought: string
}

/** Rows rendered beyond either edge of the screen. */
const ROWS_AHEAD = 6
/** Maximum frames to wait until a distant row is rendered. */
const PATIENCE = 20
/** Pixels left visible above a found passage. */
const ABOVE = 48

/** The list of messages. It follows its end while the reader is there, and stays still otherwise. */
export const Transcript = memo(function Transcript({ rows, sent, target, sought }: Props) {
  const t = useT()
  const box = useRef<HTMLDivElement>(null)
  const [away, setAway] = useState(false)
  // The visible rows first; the rows beyond them when the browser is idle.
  const [ahead, setAhead] = useState(0)
  useEffect(() => whenIdle(() => setAhead(ROWS_AHEAD)), [])
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: i => rows[i]?.estimate ?? 100,
    getItemKey: i => rows[i]?.key ?? i,
    overscan: ahead,
    // Starts at its end: the rows at the top need not be rendered first.
    initialOffset: () => rows.reduce((sum, row) => sum + row.estimate, 0),
    anchorTo: 'end',
    followOnAppend: true,
    scrollEndThreshold: NEAR_END,
    // No padding below the last row: while the row grows, it is the row that ends what can be scrolled.
    paddingStart: 8,
    // The list positions its rows itself: scrolling and growing re-render nothing.
    directDomUpdates: true,
    directDomUpdatesMode: 'position',
  })
  useEffect(() => list.scrollToEnd(), [list])
  // The person's own message always scrolls to the end.
  useEffect(() => {
    if (sent !== null) list.scrollToEnd()
  }, [list, sent])
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each target, whatever the rows do afterwards
  useEffect(() => {
    const index = rows.findIndex(row => row.key === target)
    if (index < 0) return
    // In a long text the passage can be many screens below the start of the row.
    const goOn = (frames: number) => {
      const element = box.current
      const row = element?.querySelector('[data-target]')
      if (!element || frames === 0) return
      if (!row) return later(() => goOn(frames - 1))
      const passage = row.querySelector('.part:not(:first-child)[data-sought]')
      if (!passage) return
      const below = passage.getBoundingClientRect().top - element.getBoundingClientRect().top
      list.scrollToOffset(element.scrollTop + below - ABOVE)
    }
    let frame = 0
    const later = (run: () => void) => {
      frame = requestAnimationFrame(run)
    }
    // After the first measurement: a new list scrolls to its end by itself.
    later(() => {
      list.scrollToIndex(index, { align: 'start' })
      if (sought) later(() => goOn(PATIENCE))
    })
    return () => cancelAnimationFrame(frame)
  }, [list, target, sought])

  // The box shrinks when the composer grows or an on-screen keyboard appears; a reader at the end stays there.
  useEffect(() => {
    const element = box.current
    if (!element) return
    let height = element.clientHeight
    const observer = new ResizeObserver(() => {
      const lost = height - element.clientHeight
      height = element.clientHeight
      const { scrollHeight, scrollTop } = element
      // By the list's own method, which stays at the end: a row may grow in the same frame, which moves the end.
      if (lost > 0 && scrollHeight - scrollTop - height - lost <= NEAR_END) list.scrollToEnd()
    })
    observer.observe(element)
    return () => observer.disconnect()
  }, [list])

  const look = () => {
    const element = box.current
    if (element) setAway(element.scrollHeight - element.scrollTop - element.clientHeight > NEAR_END)
  }
  return (
    <div className="relative min-h-0 flex-1">
      <div
        ref={box}
        role="log"
        aria-label={t('conversation')}
        aria-live="off"
        tabIndex={0}
        onScroll={look}
        className="scroll h-full px-4 text-(length:--reading) max-md:px-2"
      >
        <div ref={list.containerRef} className="relative">
          {list.getVirtualItems().map(item => {
            const row = rows[item.index]
            return (
              row && (
                <article
                  key={item.key}
                  ref={list.measureElement}
                  tabIndex={-1}
                  data-index={item.index}
                  data-message={row.key}
                  data-target={row.key === target || undefined}
                  aria-label={row.label}
                  aria-posinset={item.index + 1}
                  aria-setsize={rows.length}
                  className="group absolute inset-x-0 mx-auto w-full max-w-[760px] py-2"
                >
                  <Sought value={row.key === target ? sought : ''}>{row.body}</Sought>
                </article>
              )
            )
          })}
        </div>
      </div>
      {away && (
        <Button
          round
          className="floating appear absolute bottom-3 left-1/2 -translate-x-1/2"
          onClick={() => list.scrollToEnd()}
        >
          <ArrowDown size={14} aria-hidden />
          {t('latest')}
        </Button>
      )}
    </div>
  )
})
