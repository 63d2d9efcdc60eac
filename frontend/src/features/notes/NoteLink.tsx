import type { MouseEvent, ReactNode } from 'react'
import { fileAddress } from '@/app/useFileAddress'
import { useT } from '@/lib/i18n'
import { FileRef, type ProjectRoot } from '@/lib/roots'
import { openNote } from './openNote'

interface Props {
  root: ProjectRoot
  /** The file that the link means; null if there is none, undefined until that is known. */
  file: string | null | undefined
  /** A heading or block in it. */
  place: string
  /** The file as it is written. */
  name: string
  children: ReactNode
}

/** A link to a file of the project, which opens in the tab. A link to no file looks different. */
export function NoteLink({ root, file, place, name, children }: Props) {
  const t = useT()
  if (file === null) {
    const words = t('noSuchNote', { name })
    return (
      <span className="nonote" title={words}>
        {children}
        <span className="sr-only"> ({words})</span>
      </span>
    )
  }
  if (file === undefined) return <span className="text-accent">{children}</span>
  const target = FileRef.of(root, file)
  const onClick = (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    void openNote(target, place)
  }
  return (
    <a href={fileAddress(target)} title={target.path} onClick={onClick}>
      {children}
    </a>
  )
}
