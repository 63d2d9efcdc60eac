import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { bracketMatching, foldGutter, indentOnInput, syntaxHighlighting } from '@codemirror/language'
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search'
import { Compartment, EditorState, type Extension } from '@codemirror/state'
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
} from '@codemirror/view'
import { useEffect, useLayoutEffect, useRef } from 'react'
import { t, useLang } from '@/lib/i18n'
import { cspNonce } from '@/lib/nonce'
import { type FileRef, isProject } from '@/lib/roots'
import { type Reveal, useUi } from '@/stores/ui'
import { cutLine, cutMark } from './cut'
import { collectExtensions, type EditorExtension, useEditorExtensions } from './extensions'
import { keysOfApp } from './keys'
import { languageIfLoaded, languageOf } from './languages'
import { MARKED_MS, marks, showLines, unmark } from './marks'
import type { Other } from './merge'
import { attachView, changeTo, keepModel, type ModelKey, openModel } from './models'
import { phrases } from './phrases'
import { isMarkdown } from './preview'
import { highlightStyle } from './theme'
import { unseenIn } from './unseen'

interface Props {
  file: FileRef
  /** The key of the state kept from an earlier view of the file. */
  model: ModelKey
  text: string
  /** Incremented when `text` is replaced from outside. */
  revision: number
  label: string
  onEdit: (text: string) => void
  /** Called when the text loses the focus. */
  onLeave: () => void
  /** The other version while two are compared. */
  compareWith: string | null
  /** Which kind of version that is. */
  other: Other
  /** Lines to scroll to and to mark for a moment. */
  reveal: Reveal | null
  /** Maximum characters in each request, if the file is part of it. */
  cut: number | null
  readOnly?: boolean
}

/** Links and tags of a note; loaded when a note is opened. If that fails, the note is only text. */
const notesIn = async (file: FileRef): Promise<Extension> =>
  (await import('@/features/notes/editorNotes')).notesIn(file)

const base: Extension = [
  lineNumbers(),
  foldGutter(),
  highlightActiveLineGutter(),
  history(),
  drawSelection(),
  indentOnInput(),
  bracketMatching(),
  highlightActiveLine(),
  highlightSelectionMatches(),
  syntaxHighlighting(highlightStyle),
  marks,
  cutLine,
  EditorView.cspNonce.of(cspNonce),
  keysOfApp,
  // Tab is left to the browser: it must always be possible to leave the text by keyboard.
  keymap.of([...defaultKeymap, ...historyKeymap, ...searchKeymap]),
]

/** The extensions of every file, before those that features register. */
const OWN: readonly EditorExtension[] = [
  { id: 'unseen', extensionOf: unseenIn },
  { id: 'language', extensionOf: ({ path }) => languageIfLoaded(path) ?? languageOf(path) },
  { id: 'notes', extensionOf: file => (isProject(file.root) && isMarkdown(file) ? notesIn(file) : []) },
]

/** Parts of a state that are reconfigured during its life; each view of a file sets all of them. */
const contributed = new Compartment()
const merge = new Compartment()
const cutting = new Compartment()
const wrapping = new Compartment()
const speaking = new Compartment()
const hosting = new Compartment()
const writing = new Compartment()

const wrapped = (wrap: boolean): Extension => (wrap ? EditorView.lineWrapping : [])

const cutAt = (limit: number | null): Extension =>
  limit === null ? [] : cutMark.of({ limit, words: t('cutHere', { limit }) })

const spoken = (label: string): Extension => [
  phrases(),
  EditorView.contentAttributes.of({ tabindex: '0', 'aria-label': label, spellcheck: 'false' }),
]

/**
 * Runs `change` when `value` changes; the editor is created with the first one. Each run reconfigures all of the
 * state.
 */
function useUpdate(change: () => void, value: unknown): void {
  const known = useRef(value)
  useEffect(() => {
    if (known.current === value) return
    known.current = value
    change()
  })
}

/** An editor for one file: pass the file's name as key. Its state is kept under `model` for the next view. */
export default function CodeEditor({
  file,
  model,
  text,
  revision,
  label,
  onEdit,
  onLeave,
  compareWith,
  other,
  reveal,
  cut,
  readOnly = false,
}: Props) {
  const parent = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView>(null)
  const lang = useLang()
  const wrap = useUi(ui => ui.wrap)
  const registered = useEditorExtensions(({ list }) => list)
  const calls = useRef({ onEdit, onLeave })
  useEffect(() => {
    calls.current = { onEdit, onLeave }
  })

  // biome-ignore lint/correctness/useExhaustiveDependencies: the text is taken once, later versions come by revision
  useEffect(() => {
    const { now, complete } = collectExtensions([...OWN, ...registered], file)
    const host = [
      EditorView.domEventHandlers({ blur: () => calls.current.onLeave() }),
      EditorView.updateListener.of(update => {
        if (update.docChanged) calls.current.onEdit(update.state.doc.toString())
      }),
    ]
    const parts: readonly [Compartment, Extension][] = [
      [contributed, now],
      [merge, []],
      [cutting, cutAt(cut)],
      [wrapping, wrapped(wrap)],
      [speaking, spoken(label)],
      [hosting, host],
      [writing, EditorState.readOnly.of(readOnly)],
    ]
    const opened = openModel(model, {
      text,
      extensions: () => [base, parts.map(([part, extension]) => part.of(extension))],
      effects: () => [unmark, ...parts.map(([part, extension]) => part.reconfigure(extension))],
    })
    const editor = new EditorView({ parent: parent.current ?? undefined, ...opened })
    view.current = editor
    void complete?.then(all => {
      if (view.current === editor) editor.dispatch({ effects: contributed.reconfigure(all) })
    })
    return () => {
      view.current = null
      editor.destroy()
    }
  }, [file])

  // The cleanup of a layout effect runs while the text is still in the document and has its scroll position.
  useLayoutEffect(() => () => void (view.current && keepModel(model, view.current)), [model])

  useEffect(() => {
    attachView(model, view.current)
    return () => attachView(model, null)
  }, [model])

  // biome-ignore lint/correctness/useExhaustiveDependencies: only a new revision replaces what is typed
  useEffect(() => {
    const editor = view.current
    const change = editor && changeTo(editor.state, text)
    if (change) editor.dispatch({ changes: change })
  }, [revision])

  const merged = useRef(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the buttons keep their labels until the language changes
  useEffect(() => {
    if (compareWith === null && !merged.current) return
    merged.current = true
    let left = false
    const show = async () => {
      const found = compareWith === null ? [] : (await import('./merge')).compared(compareWith, other)
      if (!left) view.current?.dispatch({ effects: merge.reconfigure(found) })
    }
    void show()
    return () => {
      left = true
    }
  }, [compareWith, lang])

  useUpdate(() => {
    const editor = view.current
    const { now, complete } = collectExtensions([...OWN, ...registered], file)
    if (!complete) return editor?.dispatch({ effects: contributed.reconfigure(now) })
    void complete.then(all => {
      const isLatest = useEditorExtensions.getState().list === registered && view.current === editor
      if (isLatest) editor?.dispatch({ effects: contributed.reconfigure(all) })
    })
  }, registered)
  useUpdate(() => view.current?.dispatch({ effects: wrapping.reconfigure(wrapped(wrap)) }), wrap)
  useUpdate(
    () => view.current?.dispatch({ effects: writing.reconfigure(EditorState.readOnly.of(readOnly)) }),
    readOnly,
  )
  useUpdate(() => view.current?.dispatch({ effects: cutting.reconfigure(cutAt(cut)) }), cut)
  useUpdate(() => {
    const effects = [speaking.reconfigure(spoken(label)), cutting.reconfigure(cutAt(cut))]
    view.current?.dispatch({ effects })
  }, lang)

  useEffect(() => {
    const editor = view.current
    if (!reveal || !editor) return
    editor.dispatch(showLines(editor.state, reveal.lines))
    const timer = setTimeout(() => editor.dispatch({ effects: unmark }), MARKED_MS)
    return () => clearTimeout(timer)
  }, [reveal])

  return <div ref={parent} className="h-full min-h-0 overflow-hidden" />
}
