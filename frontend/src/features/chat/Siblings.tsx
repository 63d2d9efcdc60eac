import { ChevronLeft, ChevronRight } from 'lucide-react'
import { useEffect, useRef } from 'react'
import { IconButton } from '@/components/ui/Button'
import { useT } from '@/lib/i18n'

/** The branch that a person has switched to, until it is there: its buttons get the focus of those that were pressed. */
let switched: { to: string; by: 1 | -1 } | null = null

interface Props {
  id: string
  /** Ids of the messages at this place in all branches, including this one. */
  branches: readonly string[]
  /** Null while the session runs. */
  onGo: ((to: string) => void) | null
}

/** Switches between the branches of a conversation at one message. */
export function Siblings({ id, branches, onGo }: Props) {
  const t = useT()
  const box = useRef<HTMLSpanElement>(null)
  useEffect(() => {
    if (switched?.to !== id) return
    const [previous, next] = box.current?.querySelectorAll('button') ?? []
    const [same, other] = switched.by < 0 ? [previous, next] : [next, previous]
    switched = null
    // A person may have gone elsewhere in the meantime.
    if (document.activeElement === document.body) (same?.disabled ? other : same)?.focus()
  }, [id])
  const at = branches.indexOf(id)
  const count = branches.length
  const go = (by: 1 | -1) => {
    const to = branches[at + by]
    if (!to || !onGo) return
    switched = { to, by }
    onGo(to)
  }
  return (
    <span ref={box} className="inline-flex items-center text-fg-3 text-meta tabular-nums">
      <IconButton
        label={t('previousWay')}
        size="smallIcon"
        disabled={!onGo || at === 0}
        onClick={() => go(-1)}
      >
        <ChevronLeft size={14} aria-hidden />
      </IconButton>
      <span title={t('wayOf', { n: at + 1, of: count })}>
        <span aria-hidden>
          {at + 1}/{count}
        </span>
        <span className="sr-only">{t('wayOf', { n: at + 1, of: count })}</span>
      </span>
      <IconButton
        label={t('nextWay')}
        size="smallIcon"
        disabled={!onGo || at === count - 1}
        onClick={() => go(1)}
      >
        <ChevronRight size={14} aria-hidden />
      </IconButton>
    </span>
  )
}
