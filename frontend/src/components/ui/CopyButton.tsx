import { Check, Copy, type LucideIcon } from 'lucide-react'
import { useEffect, useState } from 'react'
import { copyText } from '@/lib/clipboard'
import { useT } from '@/lib/i18n'
import { announce } from '@/stores/announcer'
import { Button, IconButton } from './Button'

/** Copies a text to the clipboard, and confirms that for a moment. */
export const useCopy = (text: () => string): Copying => useCopying(() => copyText(text()))

/** The same for what `put` copies; it returns whether it did. */
export function useCopying(put: () => Promise<boolean>): Copying {
  const t = useT()
  const [copied, setCopied] = useState(false)
  useEffect(() => {
    if (!copied) return
    const timer = setTimeout(() => setCopied(false), 1500)
    return () => clearTimeout(timer)
  }, [copied])
  const copy = async () => {
    if (!(await put())) return
    setCopied(true)
    announce(t('copied'))
  }
  return { copied, copy: () => void copy() }
}

interface Copying {
  copied: boolean
  copy: () => void
}

interface LookProps {
  label: string
  /** Text beside the icon. */
  words?: string
  /** The tooltip, if it differs from the label. */
  title?: string
  icon?: LucideIcon
}

/** A button that copies. */
export const CopyButton = ({ text, ...look }: LookProps & { text: () => string }) => (
  <CopyingButton {...look} copying={useCopy(text)} />
)

/** A copy button whose action can also be started elsewhere, for example by a key. */
export function CopyingButton({
  copying: { copied, copy },
  label,
  words,
  title = label,
  icon: Icon = Copy,
}: LookProps & { copying: Copying }) {
  const t = useT()
  const shown = copied ? <Check size={14} aria-hidden className="text-ok" /> : <Icon size={14} aria-hidden />
  return words ? (
    <Button size="small" look="ghost" aria-label={label} onClick={copy}>
      {shown}
      {copied ? t('copied') : words}
    </Button>
  ) : (
    <IconButton label={label} title={title} size="smallIcon" onClick={copy}>
      {shown}
    </IconButton>
  )
}
