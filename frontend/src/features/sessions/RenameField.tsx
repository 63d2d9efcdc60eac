import { type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { Input } from '@/components/ui/Input'
import { useT } from '@/lib/i18n'
import { useComposition } from '@/lib/ime'

interface Props {
  title: string
  onDone: (title: string | null) => void
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

  const finish = (value: string | null) => {
    if (done.current) return
    done.current = true
    const trimmed = value?.trim()
    onDone(trimmed && trimmed !== title ? trimmed : null)
  }
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>) => {
    event.stopPropagation()
    if (composition.owns(event)) return
    if (event.key === 'Enter') finish(text)
    if (event.key === 'Escape') finish(null)
  }
  return (
    <Input
      size="small"
      ref={field}
      aria-label={t('renameLabel')}
      value={text}
      onChange={event => setText(event.target.value)}
      onKeyDown={onKeyDown}
      onBlur={() => finish(text)}
      {...composition.handlers}
      className="border-accent outline-none"
    />
  )
}
