import type { MouseEvent, ReactNode } from 'react'
import { openPassage, type Sought } from '@/features/editor/passage'
import type { Place } from '@/lib/citation'
import { cn } from '@/lib/cn'
import { type Translate, useT } from '@/lib/i18n'

/** The URL that shows the place when it is opened in a new tab. */
export function hrefOf({ path, lines }: Place): string {
  const query = new URLSearchParams({ file: path })
  if (lines) query.set('lines', lines[0] === lines[1] ? `${lines[0]}` : `${lines[0]}-${lines[1]}`)
  return `/?${query}`
}

export function placeName({ path, lines }: Place, t: Translate): string {
  if (!lines) return t('openFile', { path })
  const [a, b] = [`${lines[0]}`, `${lines[1]}`]
  return a === b ? t('openLine', { path, a }) : t('openLines', { path, a, b })
}

interface Props {
  place: Sought
  className?: string
  children: ReactNode
}

/**
 * Shows a place of a file in the inspector. A link rather than a button, so that it wraps like the surrounding text.
 */
export function PassageLink({ place, className, children }: Props) {
  const t = useT()
  const onClick = (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    void openPassage(place)
  }
  return (
    <a
      href={hrefOf(place)}
      title={placeName(place, t)}
      onClick={onClick}
      className={cn('passage', className)}
    >
      {children}
    </a>
  )
}
