import { useEffect, useRef, useState } from 'react'

let library: Promise<typeof import('@/lib/math')> | null = null

interface Props {
  tex: string
  /** The source text, shown until the formula is rendered, and if it cannot be. */
  raw: string
  display?: boolean
}

/** An inline or display formula. */
export function Formula({ tex, raw, display = false }: Props) {
  const place = useRef<HTMLSpanElement>(null)
  const [set, setSet] = useState(false)
  useEffect(() => {
    let left = false
    const run = async () => {
      library ??= import('@/lib/math')
      const { formula } = await library
      const node = left ? null : formula(tex, display)
      if (node) place.current?.replaceChildren(node)
      if (!left) setSet(node !== null)
    }
    run().catch(() => {
      // Without the library the source text stays.
      library = null
    })
    return () => {
      left = true
    }
  }, [tex, display])
  const formula = (
    <>
      <span ref={place} hidden={!set} />
      {!set && raw}
    </>
  )
  if (!display) return formula
  return (
    <div className="formula scroll" tabIndex={0} role="group">
      {formula}
    </div>
  )
}
