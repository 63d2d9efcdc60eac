import { useEffect, useRef, useState } from 'react'
import { nextOfFolder } from '@/api/queries'
import { useT } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'
import type { Root } from '@/lib/roots'

interface Props {
  root: Root
  /** The folder. */
  path: string
  /** The cursor of the next page. */
  next: string
  /** Number of entries that are not loaded. */
  n: number
  /** Called before the entries appear if the row has the focus, which then belongs to the first of them. */
  onFocused: () => void
}

/** Loads the next entries of a large folder as soon as its row is in view. */
export function MoreEntries({ root, path, next, n, onFocused }: Props) {
  const t = useT()
  const text = useRef<HTMLSpanElement>(null)
  const [failed, setFailed] = useState<{ next: string; reason: string } | null>(null)
  const [tries, setTries] = useState(0)
  const focused = useRef(onFocused)
  focused.current = onFocused
  // biome-ignore lint/correctness/useExhaustiveDependencies: a person tries again
  useEffect(() => {
    let stays = true
    nextOfFolder(root, path).then(
      show => {
        const row = text.current?.closest('[role=treeitem]')
        if (stays && row && row === document.activeElement) focused.current()
        show()
      },
      (error: unknown) => stays && setFailed({ next, reason: reasonOf(error) }),
    )
    return () => {
      stays = false
    }
  }, [root, path, next, tries])
  const reason = failed?.next === next ? failed.reason : null
  return (
    <span ref={text} className="min-w-0 flex-1 text-fg-3 text-small">
      {reason === null ? t('moreLoading', { n }) : t('loadFailed', { reason })}
      {reason !== null && (
        <button
          type="button"
          className="ms-2 underline"
          onClick={() => {
            setFailed(null)
            setTries(tries + 1)
          }}
        >
          {t('retry')}
        </button>
      )}
    </span>
  )
}
