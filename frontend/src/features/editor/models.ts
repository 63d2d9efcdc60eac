/**
 * The editor's model of an open file outlives its view: text, undo history, cursor and scroll position survive a
 * switch to another file and a rename. A model lives as long as its buffer.
 */
import { isolateHistory } from '@codemirror/commands'
import { EditorState, type Extension, type StateEffect, type Text } from '@codemirror/state'
import type { EditorView } from '@codemirror/view'
import { smallestChange } from './replace'

/** Identifies the model of a buffer. Each `openBuffer` creates a new one; a renamed buffer keeps its own. */
export type ModelKey = Readonly<Record<never, never>>

interface Model {
  state: EditorState
  scroll: StateEffect<unknown>
}

const models = new WeakMap<ModelKey, Model>()
const views = new WeakMap<ModelKey, EditorView>()

/** Registers the view that shows a model, or none. */
export function attachView(key: ModelKey, view: EditorView | null): void {
  if (view) views.set(key, view)
  else views.delete(key)
}

/** The view that shows a model; null while none does, such as when only the preview is shown. */
export const viewOf = (key: ModelKey): EditorView | null => views.get(key) ?? null

/** Keeps the state of a view. Call it while the view is in the document: afterwards its scroll position is lost. */
export function keepModel(key: ModelKey, view: EditorView): void {
  models.set(key, { state: view.state, scroll: view.scrollSnapshot() })
}

export interface Opening {
  text: string
  /** The extensions of a new state, if there is no model yet. */
  extensions: () => Extension
  /** Reconfigures the parts of a kept state that belonged to the previous view. */
  effects: () => readonly StateEffect<unknown>[]
}

export interface Opened {
  state: EditorState
  scrollTo?: StateEffect<unknown>
}

/** The initial state of a new view of the buffer. A text that was replaced in the meantime is one more undo step. */
export function openModel(key: ModelKey, { text, extensions, effects }: Opening): Opened {
  const kept = models.get(key)
  if (!kept) return { state: EditorState.create({ doc: text, extensions: extensions() }) }
  const change = changeTo(kept.state, text)
  const { state, changes } = kept.state.update({
    changes: change ?? [],
    effects: effects(),
    annotations: isolateHistory.of('full'),
  })
  const scrollTo = kept.scroll.map(changes)
  return scrollTo ? { state, scrollTo } : { state }
}

/** The smallest change that makes `text` the text of a state; null if it already is, regardless of line endings. */
export function changeTo(state: EditorState, text: string): ReturnType<typeof smallestChange> {
  const wanted: Text = state.toText(text)
  return wanted.eq(state.doc) ? null : smallestChange(state.doc.toString(), wanted.toString())
}
