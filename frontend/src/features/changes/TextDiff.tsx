import { defaultKeymap } from '@codemirror/commands'
import { syntaxHighlighting } from '@codemirror/language'
import { goToNextChunk, goToPreviousChunk, MergeView, unifiedMergeView } from '@codemirror/merge'
import { EditorState, type Extension } from '@codemirror/state'
import { drawSelection, EditorView, highlightSpecialChars, keymap, lineNumbers } from '@codemirror/view'
import { useEffect, useRef } from 'react'
import { languageOf } from '@/features/editor/languages'
import { phrases } from '@/features/editor/phrases'
import { highlightStyle } from '@/features/editor/theme'
import { useLang, useT } from '@/lib/i18n'
import { cspNonce } from '@/lib/nonce'
import { shownPath } from '@/lib/roots'
import { UNSEEN, written } from '@/lib/visible'

/** How two texts are shown. */
export interface View {
  layout: 'inline' | 'sides'
  /** Also the lines that are the same, far from any difference. */
  whole: boolean
}

interface Props {
  path: string
  before: string
  after: string
  view: View
}

/** Limits of one comparison, so that huge texts do not block the page: they get a longer diff than necessary. */
const DIFF = { scanLimit: 500, timeout: 250 }
const COLLAPSED = { margin: 3, minSize: 6 }

/** Writes invisible characters out: a person looks for what was really changed. */
const unseen = highlightSpecialChars({
  addSpecialChars: UNSEEN,
  render: (code, description) => {
    const shown = document.createElement('span')
    shown.className = 'cm-specialChar'
    shown.textContent = written(String.fromCodePoint(code))
    if (description !== null) shown.title = description
    return shown
  },
})

const readOnly = (label: string): Extension => [
  lineNumbers(),
  drawSelection(),
  syntaxHighlighting(highlightStyle),
  unseen,
  EditorState.readOnly.of(true),
  EditorView.editable.of(false),
  EditorView.lineWrapping,
  EditorView.cspNonce.of(cspNonce),
  EditorView.contentAttributes.of({ tabindex: '0', 'aria-label': label }),
  keymap.of([{ key: 'F7', run: goToNextChunk, shift: goToPreviousChunk }, ...defaultKeymap]),
  phrases(),
]

/** Two versions of a text, compared line by line: in one text, or side by side. F7 leads to the next difference. */
export default function TextDiff({ path, before, after, view: { layout, whole } }: Props) {
  const t = useT()
  const lang = useLang()
  const parent = useRef<HTMLDivElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: `t` changes with the language
  useEffect(() => {
    let shown: { destroy: () => void } | null = null
    let left = false
    const label = t('changeDiff', { path: shownPath(path) })
    const limits = { diffConfig: DIFF, ...(!whole && { collapseUnchanged: COLLAPSED }) }
    void languageOf(path).then(language => {
      if (left || !parent.current) return
      const extensions = (words: string) => [readOnly(words), language]
      if (layout === 'inline') {
        const merge = unifiedMergeView({
          original: before,
          mergeControls: false,
          ...limits,
        })
        shown = new EditorView({ parent: parent.current, doc: after, extensions: [extensions(label), merge] })
      } else {
        shown = new MergeView({
          parent: parent.current,
          a: { doc: before, extensions: extensions(`${label}: ${t('changeBefore')}`) },
          b: { doc: after, extensions: extensions(`${label}: ${t('changeAfter')}`) },
          ...limits,
        })
      }
    })
    return () => {
      left = true
      shown?.destroy()
    }
  }, [path, before, after, layout, whole, lang])
  return (
    <div
      ref={parent}
      className="h-full min-h-0 overflow-hidden rounded-md border bg-code [&_.cm-mergeView]:h-full"
    />
  )
}
