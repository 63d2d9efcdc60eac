import { useLayoutEffect, useRef } from 'react'
import { useT } from '@/lib/i18n'
import '@/lib/later'

/** Pixels. Within this distance the reader counts as being at the end, and new output is followed. */
const NEAR = 24

/** The end of what a running call has written so far. It follows the output unless the person scrolls up. */
export default function LiveOutput({ output }: { output: string }) {
  const t = useT()
  const box = useRef<HTMLPreElement>(null)
  const follows = useRef(true)
  // biome-ignore lint/correctness/useExhaustiveDependencies: after each change of the output
  useLayoutEffect(() => {
    if (box.current && follows.current) box.current.scrollTop = box.current.scrollHeight
  }, [output])
  return (
    <pre
      ref={box}
      tabIndex={0}
      role="log"
      aria-live="off"
      aria-label={t('liveOutput')}
      onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
        follows.current = scrollHeight - scrollTop - clientHeight < NEAR
      }}
      className="scroll plain ms-6 me-1 my-1 max-h-40 whitespace-pre-wrap rounded-md border bg-code p-2.5 [overflow-wrap:anywhere] [overflow-anchor:none]"
    >
      {output}
    </pre>
  )
}
