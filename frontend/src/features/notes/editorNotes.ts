/** The editor of a note: links and tags are completed and marked, and a link opens with Ctrl or Cmd and a click, or Alt and Enter. */
import {
  autocompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
} from '@codemirror/autocomplete'
import { syntaxTree } from '@codemirror/language'
import type { EditorState, Extension } from '@codemirror/state'
import {
  Decoration,
  type DecorationSet,
  EditorView,
  keymap,
  ViewPlugin,
  type ViewUpdate,
} from '@codemirror/view'
import { t } from '@/lib/i18n'
import '@/lib/later'
import { FileRef, isProject, type ProjectRoot } from '@/lib/roots'
import { toast } from '@/stores/toasts'
import { folderOf } from './names'
import { type Notes, notesOf } from './notesOf'
import { openNote } from './openNote'
import { readLink, tagIn } from './text'

/** Characters around a place in which a link is looked for. */
const AROUND = 1_100

/** What stands before the cursor while a link or a tag is typed. */
const OPEN_LINK = /(?<!\\)\[\[([^[\]|#^\n]*)$/
const OPEN_TAG = /(?:^|\s)#([\p{L}\p{N}_/-]+)$/u
/** A link or a tag in a line. */
const PIECES = /!?\[\[([^[\]\n]{1,1024})\]\]|(?<=^|\s)#([\p{L}\p{N}\p{M}\p{So}_/-]+)/gu

export function notesIn(file: FileRef): Extension {
  const { root } = file
  if (!isProject(root)) return []
  return [
    autocompletion({ override: [context => complete(context, root)], icons: false }),
    marked(file, root),
    EditorView.domEventHandlers({
      mousedown: (event, view) => {
        if (event.button !== 0 || !(event.ctrlKey || event.metaKey)) return false
        const at = view.posAtCoords({ x: event.clientX, y: event.clientY })
        const followed = at !== null && follow(view.state, at, file, root)
        if (followed) event.preventDefault()
        return followed
      },
    }),
    keymap.of([
      { key: 'Alt-Enter', run: ({ state }) => follow(state, state.selection.main.head, file, root) },
    ]),
  ]
}

/** Whether a place is in code, where nothing is a link. */
function isCode(state: EditorState, at: number): boolean {
  for (let node = syntaxTree(state).resolveInner(at, 1); ; ) {
    if (/Code|Frontmatter/.test(node.name)) return true
    if (!node.parent) return false
    node = node.parent
  }
}

async function complete(context: CompletionContext, root: ProjectRoot): Promise<CompletionResult | null> {
  const line = context.state.doc.lineAt(context.pos)
  const before = line.text.slice(0, context.pos - line.from)
  const link = OPEN_LINK.exec(before)
  const tag = link ? null : OPEN_TAG.exec(before)
  if (!(link || tag) || isCode(context.state, context.pos)) return null
  const notes = await notesOf(root).catch(() => null)
  if (!notes || context.aborted) return null
  const typed = (link ?? tag)?.[1] ?? ''
  return {
    from: context.pos - typed.length,
    options: link ? linkOptions(notes, before[link.index - 1] === '!') : tagOptions(notes),
    validFor: link ? /^[^[\]|#^\n]*$/ : /^[\p{L}\p{N}_/-]*$/u,
  }
}

/** Writes a link and leaves the cursor after it; brackets that are there already are kept. */
const applied =
  (text: string): Completion['apply'] =>
  (view, _completion, from, to) => {
    const closed = view.state.sliceDoc(to, to + 2) === ']]'
    view.dispatch({
      changes: { from, to, insert: closed ? text : `${text}]]` },
      selection: { anchor: from + text.length + 2 },
      userEvent: 'input.complete',
    })
  }

const made = new WeakMap<Notes, { notes: Completion[]; files: Completion[]; tags: Completion[] }>()

/** The options for a vault are made once: there may be thousands. */
function optionsOf(notes: Notes): { notes: Completion[]; files: Completion[]; tags: Completion[] } {
  const known = made.get(notes)
  if (known) return known
  const options: { notes: Completion[]; files: Completion[]; tags: Completion[] } = {
    notes: notes.notes.flatMap(({ path, title, aliases = [] }) => {
      const text = notes.names.shortest(path)
      const others = [...(title ? [title] : []), ...aliases].filter(name => name !== text)
      const detail = folderOf(path)
      return [
        { label: text, detail, apply: applied(text) },
        ...others.map(name => ({ label: name, detail: text, apply: applied(`${text}|${name}`), boost: -1 })),
      ]
    }),
    files: notes.files.map(path => {
      const text = notes.names.shortest(path)
      return { label: text, detail: folderOf(path), apply: applied(text), boost: -2 }
    }),
    tags: notes.tags.map(({ tag, notes }) => ({ label: tag, detail: `${notes}` })),
  }
  made.set(notes, options)
  return options
}

const linkOptions = (notes: Notes, embeds: boolean): Completion[] => {
  const options = optionsOf(notes)
  return embeds ? [...options.notes, ...options.files] : options.notes
}
const tagOptions = (notes: Notes): Completion[] => optionsOf(notes).tags

/** Opens the link at a place of the text; returns false if there is none. */
function follow(state: EditorState, at: number, file: FileRef, root: ProjectRoot): boolean {
  const line = state.doc.lineAt(at)
  const begin = Math.max(line.from, at - AROUND)
  for (const found of state.sliceDoc(begin, Math.min(line.to, at + AROUND)).matchAll(PIECES)) {
    const from = begin + found.index
    const link = found[1] === undefined ? null : readLink(found[1])
    if (!link || at < from || at > from + found[0].length || isCode(state, from)) continue
    void notesOf(root).then(({ names }) => {
      const target = names.resolve(link.target, file.path)
      if (target === null) toast(t('noSuchNote', { name: link.target }), { tone: 'bad' })
      else void openNote(FileRef.of(root, target), link.place)
    })
    return true
  }
  return false
}

const linkMark = Decoration.mark({ class: 'cm-notelink' })
const missingMark = Decoration.mark({ class: 'cm-notelink cm-nonote' })
const tagMark = Decoration.mark({ class: 'cm-notetag' })

/** Marks the links and tags that are in view. */
const marked = (file: FileRef, root: ProjectRoot): Extension =>
  ViewPlugin.fromClass(
    class {
      decorations: DecorationSet
      private notes: Notes | null = null

      constructor(view: EditorView) {
        this.decorations = this.find(view)
        let left = false
        this.destroy = () => {
          left = true
        }
        void notesOf(root).then(
          notes => {
            if (left) return
            this.notes = notes
            this.decorations = this.find(view)
            // Shows what was found.
            view.dispatch({})
          },
          () => {},
        )
      }

      destroy: () => void

      update(update: ViewUpdate) {
        const parsed = syntaxTree(update.startState) !== syntaxTree(update.state)
        if (update.docChanged || update.viewportChanged || parsed) this.decorations = this.find(update.view)
      }

      private find(view: EditorView): DecorationSet {
        const found = []
        for (const { from, to } of view.visibleRanges) {
          for (let at = from; at <= to; ) {
            const line = view.state.doc.lineAt(at)
            for (const piece of line.text.slice(0, 20_000).matchAll(PIECES)) {
              const start = line.from + piece.index
              if (isCode(view.state, start)) continue
              const mark = this.markOf(piece)
              if (mark) found.push(mark.range(start, start + piece[0].length))
            }
            at = line.to + 1
          }
        }
        return Decoration.set(found)
      }

      private markOf([, written, tag]: RegExpMatchArray): Decoration | null {
        if (written === undefined) return tagIn(tag ?? '') === '' ? null : tagMark
        const link = readLink(written)
        if (!link) return null
        const isMissing = this.notes !== null && this.notes.names.resolve(link.target, file.path) === null
        return isMissing ? missingMark : linkMark
      }
    },
    { decorations: plugin => plugin.decorations },
  )
