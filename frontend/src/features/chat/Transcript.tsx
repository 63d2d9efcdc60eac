import { useVirtualizer } from '@tanstack/react-virtual'
import { ArrowDown } from 'lucide-react'
import { memo, type ReactNode, useEffect, useRef, useState } from 'react'
import { Sought } from '@/components/markdown/sought'
import { Button } from '@/components/ui/Button'
import { useT } from '@/lib/i18n'
import { whenIdle } from '@/lib/idle'

/** This close to the end counts as being there: new text is followed. */
const NEAR_END = 80

export interface Row {
  key: string
  label: string
  /** Guess of the height in px, until the row is measured. */
  estimate: number
  body: ReactNode
}

interface Props {
  rows: Row[]
  /** Grows with each message that the person sends. */
  sent: number
  /** Key of the row to show and mark. */
  target: string | null
  /** The words for which that row was found, if it was. */
  sought: string
}

/** Rows beyond either edge of the screen that are ready to be scrolled to. */
const ROWS_AHEAD = 6
/** Frames within which a row that was far away has been made. */
const PATIENCE = 20
/** What stays in view above a passage that was found, in px. */
const ABOVE = 48

/** The list keeps its end in view while the reader is there, and keeps still while the reader is elsewhere. */
export const Transcript = memo(function Transcript({ rows, sent, target, sought }: Props) {
  const t = useT()
  const box = useRef<HTMLDivElement>(null)
  const [away, setAway] = useState(false)
  // What is on the screen first; the rows beyond it when there is time.
  const [ahead, setAhead] = useState(0)
  useEffect(() => whenIdle(() => setAhead(ROWS_AHEAD)), [])
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: i => rows[i]?.estimate ?? 100,
    getItemKey: i => rows[i]?.key ?? i,
    overscan: ahead,
    // Begins at its end: the rows at the top need not be made first.
    initialOffset: () => rows.reduce((sum, row) => sum + row.estimate, 0),
    anchorTo: 'end',
    followOnAppend: true,
    scrollEndThreshold: NEAR_END,
    paddingStart: 8,
    paddingEnd: 8,
    // The list places its rows itself: scrolling and growing draw nothing anew.
    directDomUpdates: true,
    directDomUpdatesMode: 'position',
  })
  // The person's own message always brings the end back into view.
  // biome-ignore lint/correctness/useExhaustiveDependencies: `sent` is the occasion, not an input
  useEffect(() => list.scrollToEnd(), [list, sent])
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each target, whatever the rows do afterwards
  useEffect(() => {
    const index = rows.findIndex(row => row.key === target)
    if (index < 0) return
    // In a long text the passage can be many screens below the row's beginning.
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
    // After the first measure: a list that has just been made goes to its end by itself.
    later(() => {
      list.scrollToIndex(index, { align: 'start' })
      if (sought) later(() => goOn(PATIENCE))
    })
    return () => cancelAnimationFrame(frame)
  }, [list, target, sought])

  // The box gives way when the composer grows or a keyboard comes up; who was at the end stays there.
  useEffect(() => {
    const element = box.current
    if (!element) return
    let height = element.clientHeight
    const observer = new ResizeObserver(() => {
      const lost = height - element.clientHeight
      height = element.clientHeight
      const { scrollHeight, scrollTop } = element
      // By the list itself, which stays at it: a row may grow in the same frame, and is placed by where the list was.
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
        className="scroll h-full px-4 max-md:px-2"
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
