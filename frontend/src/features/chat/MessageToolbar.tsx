import type { ReactNode } from 'react'
import { Toolbar } from '@/components/ui/Toolbar'
import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'
import { PinButton } from './PinButton'

/** Classes of what is seen only while the pointer is over a message or the focus is in it; always where people touch. */
export const ON_HOVER =
  'opacity-0 transition-opacity group-focus-within:opacity-100 group-hover:opacity-100 pointer-coarse:opacity-100'

interface Props {
  pinned: boolean
  /** Null for a message that cannot be pinned. */
  onPin: ((pinned: boolean) => void) | null
  children: ReactNode
}

/** The actions of a message. The pin of a pinned message is always seen, in the same place. */
export function MessageToolbar({ pinned, onPin, children }: Props) {
  const t = useT()
  return (
    <Toolbar label={t('messageActions')}>
      <div className={cn('flex', ON_HOVER)}>{children}</div>
      {onPin && (
        <div className={cn('flex', !pinned && ON_HOVER)}>
          <PinButton pinned={pinned} onPin={onPin} />
        </div>
      )}
    </Toolbar>
  )
}
