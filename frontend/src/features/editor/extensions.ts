/**
 * What extends the editor, from any feature: an entry answers the CodeMirror extension for a file. A feature that is not
 * loaded with the editor answers a promise, so that CodeMirror stays out of the first load.
 */
import type { Extension } from '@codemirror/state'
import { create } from 'zustand'
import type { FileRef } from '@/lib/roots'

export interface EditorExtension {
  id: string
  extensionOf: (file: FileRef) => Extension | Promise<Extension>
}

export const useEditorExtensions = create<{ list: readonly EditorExtension[] }>(() => ({ list: [] }))

/** Adds an entry, or replaces the one of that id; open editors follow. Answers what removes it. */
export function registerEditorExtension(entry: EditorExtension): () => void {
  useEditorExtensions.setState(({ list }) => ({ list: [...list.filter(({ id }) => id !== entry.id), entry] }))
  return () => useEditorExtensions.setState(({ list }) => ({ list: list.filter(other => other !== entry) }))
}

export interface Collected {
  /** Of the entries that answered at once. */
  now: Extension
  /** Of all entries, in their order; null where `now` is complete. An entry that fails adds nothing. */
  complete: Promise<Extension> | null
}

export function collectExtensions(list: readonly EditorExtension[], file: FileRef): Collected {
  const answers = list.map(entry => entry.extensionOf(file))
  const now = answers.map(answer => (answer instanceof Promise ? [] : answer))
  if (!answers.some(answer => answer instanceof Promise)) return { now, complete: null }
  const complete = Promise.allSettled(answers).then(settled =>
    settled.map(answer => (answer.status === 'fulfilled' ? answer.value : [])),
  )
  return { now, complete }
}
