import { Pin, PinOff } from 'lucide-react'
import { useHint } from '@/app/hint'
import { IconButton } from '@/components/ui/Button'
import { useT } from '@/lib/i18n'

interface Props {
  pinned: boolean
  onPin: (pinned: boolean) => void
}

/** Pins a message, so that every request contains it, or shows that it is pinned and unpins it. */
export function PinButton({ pinned, onPin }: Props) {
  const t = useT()
  const hint = useHint('pinMessage')
  const label = pinned ? { label: t('unpinMessage') } : hint
  const Icon = pinned ? PinOff : Pin
  return (
    <IconButton {...label} size="smallIcon" onClick={() => onPin(!pinned)}>
      <Icon size={13} aria-hidden className={pinned ? 'text-accent' : undefined} />
    </IconButton>
  )
}
