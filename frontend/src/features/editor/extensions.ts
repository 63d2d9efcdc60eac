/**
 * Editor extensions of all features: an entry returns the CodeMirror extension for a file. A feature that is not
 * loaded with the editor returns a promise, so that CodeMirror stays out of the first load.
 */
import type { Extension } from '@codemirror/state'
import { create } from 'zustand'
import type { FileRef } from '@/lib/roots'

export interface EditorExtension {
  id: string
  extensionOf: (file: FileRef) => Extension | Promise<Extension>
}

export const useEditorExtensions = create<{ list: readonly EditorExtension[] }>(() => ({ list: [] }))

/** Adds an entry, or replaces the one with the same id; open editors update. Returns a function that removes it. */
export function registerEditorExtension(entry: EditorExtension): () => void {
  useEditorExtensions.setState(({ list }) => ({ list: [...list.filter(({ id }) => id !== entry.id), entry] }))
  return () => useEditorExtensions.setState(({ list }) => ({ list: list.filter(other => other !== entry) }))
}

export interface Collected {
  /** The extensions of the entries that returned at once. */
  now: Extension
  /** The extensions of all entries, in order; null if `now` is complete. A failed entry adds nothing. */
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
