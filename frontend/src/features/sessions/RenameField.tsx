import { type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { Input } from '@/components/ui/Input'
import { useT } from '@/lib/i18n'
import { useComposition } from '@/lib/ime'

interface Props {
  title: string
  /** `byKey`: a key ended it, so the focus was in the field. */
  onDone: (title: string | null, byKey: boolean) => void
}

/** Enter and leaving the field apply the new name, Esc keeps the old one. */
export function RenameField({ title, onDone }: Props) {
  const t = useT()
  const composition = useComposition()
  const [text, setText] = useState(title)
  const field = useRef<HTMLInputElement>(null)
  const done = useRef(false)

  // The menu that opened this restores the focus to its button first.
  useEffect(() => {
    const frame = requestAnimationFrame(() => field.current?.select())
    return () => cancelAnimationFrame(frame)
  }, [])

  const finish = (value: string | null, byKey: boolean) => {
    if (done.current) return
    done.current = true
    const trimmed = value?.trim()
    onDone(trimmed && trimmed !== title ? trimmed : null, byKey)
  }
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>) => {
    event.stopPropagation()
    if (composition.owns(event)) return
    if (event.key === 'Enter') finish(text, true)
    if (event.key === 'Escape') finish(null, true)
  }
  return (
    <Input
      size="small"
      ref={field}
      aria-label={t('renameLabel')}
      value={text}
      onChange={event => setText(event.target.value)}
      onKeyDown={onKeyDown}
      onBlur={() => finish(text, false)}
      {...composition.handlers}
      className="border-accent outline-none"
    />
  )
}
