import { useEffect, useRef, useState } from 'react'
import { whenIdle } from '@/lib/idle'

/** Maximum characters to highlight; beyond this the cost outweighs the benefit. */
const LONGEST = 60_000

let library: Promise<typeof import('@/lib/highlight')> | null = null

/** Highlighted HTML once the code is complete, near the screen, and the browser is idle; null before. */
function useHighlighted(code: string, language: string, live: boolean) {
  const [html, setHtml] = useState<string | null>(null)
  const ref = useRef<HTMLElement>(null)
  useEffect(() => {
    const element = ref.current
    if (live || !language || code.length > LONGEST || !element) return
    let left = false
    let forget = () => {}
    const run = async () => {
      library ??= import('@/lib/highlight')
      const { highlight } = await library
      if (!left) setHtml(highlight(code, language))
    }
    const observer = new IntersectionObserver(
      seen => {
        if (!seen.some(entry => entry.isIntersecting)) return
        observer.disconnect()
        forget = whenIdle(() => void run())
      },
      { rootMargin: '200px' },
    )
    observer.observe(element)
    return () => {
      left = true
      forget()
      observer.disconnect()
    }
  }, [code, language, live])
  return { html, ref }
}

interface Props {
  code: string
  language: string
  live?: boolean
}

/** Code in the colours of its language. */
export function Highlighted({ code, language, live = false }: Props) {
  const { html, ref } = useHighlighted(code, language, live)
  return html === null ? (
    <code ref={ref}>{code}</code>
  ) : (
    // biome-ignore lint/security/noDangerouslySetInnerHtml: highlight.js escapes its input and writes only spans
    <code ref={ref} dangerouslySetInnerHTML={{ __html: html }} />
  )
}
