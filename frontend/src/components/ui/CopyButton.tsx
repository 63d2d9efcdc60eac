import { Check, Copy } from 'lucide-react'
import { useEffect, useState } from 'react'
import { copyText } from '@/lib/clipboard'
import { useT } from '@/lib/i18n'
import { announce } from '@/stores/announcer'
import { Button, IconButton } from './Button'

/** Puts a text on the clipboard, and says for a moment that it is there. */
export function useCopy(text: () => string): Copying {
  const t = useT()
  const [copied, setCopied] = useState(false)
  useEffect(() => {
    if (!copied) return
    const timer = setTimeout(() => setCopied(false), 1500)
    return () => clearTimeout(timer)
  }, [copied])
  const copy = async () => {
    if (!(await copyText(text()))) return
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
  /** Words beside the icon. */
  words?: string
  /** The tooltip, where it says more than the label. */
  title?: string
}

/** A button that copies. */
export const CopyButton = ({ text, ...look }: LookProps & { text: () => string }) => (
  <CopyingButton {...look} copying={useCopy(text)} />
)

/** A button for a copying that something else, such as a key, can start too. */
export function CopyingButton({
  copying: { copied, copy },
  label,
  words,
  title = label,
}: LookProps & { copying: Copying }) {
  const t = useT()
  const icon = copied ? <Check size={14} aria-hidden className="text-ok" /> : <Copy size={14} aria-hidden />
  return words ? (
    <Button size="small" look="ghost" aria-label={label} onClick={copy}>
      {icon}
      {copied ? t('copied') : words}
    </Button>
  ) : (
    <IconButton label={label} title={title} size="smallIcon" onClick={copy}>
      {icon}
    </IconButton>
  )
}
