import { defaultRangeExtractor, useVirtualizer } from '@tanstack/react-virtual'
import { type KeyboardEvent, useCallback, useLayoutEffect, useRef, useState } from 'react'
import { moveBy, type TreeItem, typedTo } from './tree'

interface Given<Row extends TreeItem> {
  rows: readonly Row[]
  /** The element in which the tree scrolls; it may have other content above the tree. */
  scroller: HTMLElement | null
  /** The path of the selected row. */
  current: string | null
  /** The path of the row that gets the focus when the tree appears; null for none. */
  focused: string | null
  /** Opens a file, or opens and closes a folder. */
  act: (row: Row) => void
}

/** Milliseconds; letters typed within this time form one word. */
const TYPING_MS = 500
const PART_OF_NAME = /^[\p{L}\p{N}._-]$/u

/** Height of a row in px, until it is measured; rows on touch screens are taller. */
const ROW = 28
/** Rows rendered beyond each edge. */
const AHEAD = 12

/** Renders only the visible rows of a tree, and moves the focus among them by keys. */
export function useTreeRows<Row extends TreeItem>({ rows, scroller, current, focused, act }: Given<Row>) {
  const [active, setActive] = useState<string | null>(null)
  const tree = useRef<HTMLDivElement>(null)
  const typed = useRef({ text: '', at: 0 })
  const indexOf = (path: string | null) => (path === null ? -1 : rows.findIndex(row => row.path === path))
  /**
   * The one row in the tab order. It stays in the document wherever the list is scrolled, so that it keeps the focus.
   */
  const stop = [indexOf(active), indexOf(current), 0].find(at => at >= 0) ?? 0
  const [above, setAbove] = useState(0)
  useLayoutEffect(() => {
    const [box, own] = [scroller, tree.current]
    if (box && own)
      setAbove(own.getBoundingClientRect().top - box.getBoundingClientRect().top + box.scrollTop)
  })
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller,
    estimateSize: () => ROW,
    getItemKey: at => rows[at]?.path ?? at,
    overscan: AHEAD,
    scrollMargin: above,
    rangeExtractor: range => [...new Set([...defaultRangeExtractor(range), stop])].sort((a, b) => a - b),
  })
  /** The row that gets the focus as soon as it is in the document. */
  const wanted = useRef(focused)
  /** The index of which the row gets the focus as soon as there are other rows. */
  const wantedAt = useRef<{ at: number; rows: readonly Row[] } | null>(null)
  useLayoutEffect(() => {
    const next = wantedAt.current
    if (!next || next.rows === rows) return
    wantedAt.current = null
    wanted.current = rows[next.at]?.path ?? null
    setActive(wanted.current)
  }, [rows])
  useLayoutEffect(() => {
    if (wanted.current === null) return
    const at = rows.findIndex(row => row.path === wanted.current)
    const row = tree.current?.querySelector<HTMLElement>(`[data-index="${at}"]`)
    if (row) wanted.current = null
    row?.focus()
  })
  const onKeyDown = (event: KeyboardEvent, row: Row, at: number) => {
    if (event.target !== event.currentTarget || event.ctrlKey || event.altKey || event.metaKey) return
    const move = moveBy(event.key, rows, at)
    let to: number | null = null
    if (event.key === 'Enter' || event.key === ' ') act(row)
    else if (move === 'toggle') act(row)
    else if (move) to = move.to
    else if (PART_OF_NAME.test(event.key)) {
      const goesOn = event.timeStamp - typed.current.at < TYPING_MS
      typed.current = { text: (goesOn ? typed.current.text : '') + event.key, at: event.timeStamp }
      to = typedTo(typed.current.text, rows, at)
    } else return
    event.preventDefault()
    event.stopPropagation()
    if (to === null) return
    wanted.current = rows[to]?.path ?? null
    setActive(wanted.current)
  }
  const shown = useRef(rows)
  useLayoutEffect(() => {
    shown.current = rows
  })
  /** Focuses the row that will be at this index when the rows have changed. */
  const focusNext = useCallback((at: number) => {
    wantedAt.current = { at, rows: shown.current }
  }, [])
  return { tree, list, above, stop, setActive, onKeyDown, focusNext }
}
