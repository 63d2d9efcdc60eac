import { useEffect, useRef, useState } from 'react'

let library: Promise<typeof import('@/lib/math')> | null = null

interface Props {
  tex: string
  /** As it was written, for as long as it is not set, and where it cannot be. */
  raw: string
  display?: boolean
}

/** A formula in a line, or on a line of its own. */
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
      // Without the library the formula stays as it was written.
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
