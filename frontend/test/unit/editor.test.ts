import { defaultKeymap } from '@codemirror/commands'
import { EditorState, type Extension } from '@codemirror/state'
import { EditorView, keymap } from '@codemirror/view'
import { afterEach, describe, expect, it } from 'vitest'
import { useChords } from '@/app/chords'
import { COMMANDS } from '@/app/commands'
import { keysOfApp } from '@/features/editor/keys'
import { type CHOICES, compared } from '@/features/editor/merge'
import { PHRASES, phrases } from '@/features/editor/phrases'
import { setLang } from '@/lib/i18n'

const views: EditorView[] = []
function show(doc: string, extensions: Extension): EditorView {
  const view = new EditorView({ parent: document.body, state: EditorState.create({ doc, extensions }) })
  views.push(view)
  return view
}
afterEach(async () => {
  for (const view of views.splice(0)) view.destroy()
  useChords.setState({ chosen: {} })
  await setLang('en')
})

describe('a shortcut of the application', () => {
  const press = (view: EditorView, init: KeyboardEventInit) =>
    view.contentDOM.dispatchEvent(new KeyboardEvent('keydown', { ...init, bubbles: true, cancelable: true }))
  const up = { key: 'ArrowUp', code: 'ArrowUp', keyCode: 38, altKey: true }
  const open = () => {
    const view = show('one\ntwo', [keymap.of(defaultKeymap), keysOfApp])
    view.dispatch({ selection: { anchor: 5 } })
    return view
  }

  it('does nothing else in the editor, and reaches the application', () => {
    const view = open()
    let heard = 0
    const count = () => heard++
    window.addEventListener('keydown', count)
    press(view, up)
    window.removeEventListener('keydown', count)
    expect([view.state.doc.toString(), heard]).toEqual(['one\ntwo', 1])
  })

  it('belongs to the editor again when it is unassigned', () => {
    useChords.setState({ chosen: { previousSession: null } })
    const view = open()
    press(view, up)
    expect(view.state.doc.toString()).toBe('two\none')
  })

  it('never belongs to the editor, whichever it is', () => {
    for (const { keys, scope } of COMMANDS) {
      if (keys === null || scope !== undefined) continue
      const { code, mod, shift, alt } = keys
      let reached = false
      const asks = EditorView.domEventHandlers({ keydown: () => (reached = true) })
      press(show('x', [asks, keysOfApp]), { code, ctrlKey: !!mod, shiftKey: !!shift, altKey: !!alt })
      expect(reached, code).toBe(false)
    }
  })
})

describe('the texts of the editor', () => {
  const sources = import.meta.glob<string>(
    '../../node_modules/@codemirror/{commands,language,search,view}/dist/index.js',
    { eager: true, query: '?raw', import: 'default' },
  )

  it('cover everything that CodeMirror says', () => {
    const said = Object.values(sources).flatMap(text =>
      [...text.matchAll(/\bphrase\(([^)]*)\)/g)].flatMap(([, inside]) =>
        [...(inside ?? '').matchAll(/"([^"]+)"/g)].map(([, words]) => words ?? ''),
      ),
    )
    expect(said.length).toBeGreaterThan(20)
    expect(said.filter(words => !Object.hasOwn(PHRASES, words))).toEqual([])
  })

  it('are in the language of the page', async () => {
    const said = () => EditorState.create({ extensions: phrases() }).phrase('replaced $ matches', 3)
    expect(said()).toBe('Matches replaced: 3')
    await setLang('zh')
    expect(said()).toBe('已替换 3 个匹配项')
  })
})

describe('two versions beside each other', () => {
  const choose = (other: keyof typeof CHOICES, name: string) => {
    const view = show('mine\n', compared('theirs\n', other))
    const button = view.dom.querySelector<HTMLButtonElement>(`button[name=${name}]`)
    button?.dispatchEvent(new MouseEvent('mousedown', { bubbles: true, cancelable: true }))
    const left = view.dom.querySelectorAll('.cm-deletedChunk').length
    return [button?.textContent, view.state.doc.toString(), left]
  }

  it('name the text that each choice keeps', async () => {
    expect(choose('disk', 'accept')).toEqual(['Keep my version', 'mine\n', 0])
    expect(choose('disk', 'reject')).toEqual(['Use the version on disk', 'theirs\n', 0])
    expect(choose('earlier', 'reject')).toEqual(['Revert change', 'theirs\n', 0])
    await setLang('zh')
    expect(choose('disk', 'accept')[0]).toBe('保留我的版本')
  })

  it('are chosen once, by mouse or by key', () => {
    const view = show('mine\n', compared('theirs\n', 'earlier'))
    const button = view.dom.querySelector<HTMLButtonElement>('button[name=reject]')
    const click = (detail: number) =>
      button?.dispatchEvent(new MouseEvent('click', { detail, bubbles: true }))
    const held = new KeyboardEvent('keydown', { key: 'Enter', repeat: true, cancelable: true })
    expect(button?.dispatchEvent(held), 'a key that is held down').toBe(false)
    click(1)
    expect(view.state.doc.toString(), 'a mouse has chosen before its click').toBe('mine\n')
    click(0)
    expect(view.state.doc.toString()).toBe('theirs\n')
    expect(document.activeElement).toBe(view.contentDOM)
  })
})
