import { useEffect, useRef } from 'react'
import { CopyButton } from '@/components/ui/CopyButton'
import { useT } from '@/lib/i18n'

interface Props {
  title: string
  /** What it is for, and that it is shown only now. */
  hint: string
  /** Each with its label. */
  secrets: readonly { label: string; text: string }[]
}

/** A secret that the server tells only once. It takes the focus, so that it is not overlooked. */
export function OneTime({ title, hint, secrets }: Props) {
  const t = useT()
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => box.current?.focus(), [])
  return (
    <div
      ref={box}
      tabIndex={-1}
      role="group"
      aria-label={title}
      className="w-full space-y-2 rounded-lg border border-warn-line bg-warn-soft px-3 py-2 text-small"
    >
      <p className="font-semibold text-warn">{title}</p>
      <p className="text-fg-2">{hint}</p>
      {secrets.map(({ label, text }) => (
        <p key={label} className="flex items-center gap-1 rounded-md border bg-card ps-2.5 pe-1">
          <span className="sr-only">{label}</span>
          <code className="min-w-0 flex-1 py-1 font-mono text-[12px] text-fg [overflow-wrap:anywhere]">
            {text}
          </code>
          <CopyButton label={t('copyThis', { name: label })} text={() => text} />
        </p>
      ))}
    </div>
  )
}
