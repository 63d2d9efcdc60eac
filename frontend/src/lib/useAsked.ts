/** The question to search for: the typed text after a pause or Enter, never a partial word of an input method. */
import { useEffect, useState } from 'react'

const REST = 300

export function useAsked(query: string, composing: boolean): [asked: string, askNow: () => void] {
  const [asked, setAsked] = useState(query.trim())
  useEffect(() => {
    if (composing) return
    const timer = setTimeout(() => setAsked(query.trim()), REST)
    return () => clearTimeout(timer)
  }, [query, composing])
  return [asked, () => setAsked(query.trim())]
}
