import { useEffect, useState } from 'react'

/** Milliseconds without typing after which a search begins. */
const PAUSE = 250

/** The text as it was when a person last stopped typing. */
export function useTypedText(text: string): string {
  const [typed, setTyped] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setTyped(text), PAUSE)
    return () => clearTimeout(timer)
  }, [text])
  return typed
}
