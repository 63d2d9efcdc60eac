import { type KeyboardEvent, useEffect, useId, useState } from 'react'
import { useFoundNames } from '@/api/projectQueries'
import type { FoundProjectFiles } from '@/api/types'
import { useComposition } from '@/lib/ime'
import { FileRef, type ProjectRoot, projectOf } from '@/lib/roots'
import { openFile } from '@/stores/ui'

/** Maximum number of files. */
const MOST = 100

export interface NameSearch {
  /** Undefined until the server has answered. */
  files: FoundProjectFiles['items'] | undefined
  /** Index of the file that Enter opens; -1 for none. */
  active: number
  /** Id of the list; that of an option ends with its index. */
  listId: string
  more: boolean
  error: unknown
  pick: (index: number) => void
  /** What the field has that controls the list. */
  field: Record<string, unknown>
}

/** The files of a project whose names have what is typed in a field, which chooses one by arrow keys. */
export function useNameSearch(root: ProjectRoot, text: string): NameSearch {
  const listId = useId()
  const query = text.trim()
  const composition = useComposition()
  const { data, error } = useFoundNames(projectOf(root) ?? '', query, MOST)
  const [chosen, setChosen] = useState({ query, at: 0 })
  const files = query === '' ? undefined : data?.items
  const at = chosen.query === query ? chosen.at : 0
  const active = Math.min(at, (files?.length ?? 0) - 1)
  const pick = (index: number) => {
    const file = files?.[index]
    if (!file) return
    setChosen({ query, at: index })
    openFile(FileRef.of(root, file.path))
  }
  // The list may still be that of what was typed before: Enter then waits for the new one.
  const isStale = data?.query !== query
  const [entered, setEntered] = useState<string | null>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the list has arrived
  useEffect(() => {
    if (entered === null || isStale) return
    setEntered(null)
    if (entered === query) pick(active)
  }, [entered, isStale])
  const onKeyDown = (event: KeyboardEvent) => {
    if (composition.owns(event)) return
    if (event.key === 'Enter' && isStale && query !== '') setEntered(query)
    if (isStale || !files?.length) return
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step) setChosen({ query, at: (active + step + files.length) % files.length })
    else if (event.key === 'Enter') pick(active)
    else return
    event.preventDefault()
  }
  const isShown = query !== '' && files !== undefined && files.length > 0
  const field = {
    role: 'combobox',
    'aria-expanded': isShown,
    'aria-controls': isShown ? listId : undefined,
    'aria-activedescendant': isShown ? `${listId}-${active}` : undefined,
    onKeyDown,
    ...composition.handlers,
  }
  return { files, active, listId, more: data?.more ?? false, error, pick, field }
}
