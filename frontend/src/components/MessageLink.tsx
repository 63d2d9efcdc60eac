import type { MouseEvent, ReactNode } from 'react'
import { Link } from 'wouter'
import { recalledWords } from '@/features/chat/recalled'
import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'
import { hrefOfMessage, type MessagePlace } from '@/lib/messageCitation'
import { useUi } from '@/stores/ui'

interface Props {
  place: MessagePlace
  className?: string
  children: ReactNode
}

/** Opens a message of a conversation, with the words marked by which it was found. */
export function MessageLink({ place, className, children }: Props) {
  const t = useT()
  const onClick = (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    const find = recalledWords(place)
    useUi.setState({
      find,
      findAt: find === null ? null : place.message,
      findFile: null,
      pane: 'chat',
      view: 'chat',
    })
  }
  return (
    <Link
      href={hrefOfMessage(place)}
      title={t('openMessage')}
      onClick={onClick}
      className={cn('passage', className)}
    >
      {children}
    </Link>
  )
}
