/** Where the panes are and what is open. Widths and the two pane switches outlive the page. */
import { create } from 'zustand'
import type { DialogName } from '@/app/dialogTable'
import type { PanelId } from '@/app/panels'
import type { Lines } from '@/lib/citation'
import { FileRef } from '@/lib/roots'
import { store, stored } from '@/lib/storage'

export type Pane = 'left' | 'chat' | 'right'
export const LEFT = { min: 200, max: 420, start: 268 } as const
export const RIGHT = { min: 300, max: 720, start: 400 } as const
/** The right pane beside the playground, which needs more room to show a file. */
export const CHUNKS = { min: 300, max: 900, start: 520 } as const

export interface Reveal {
  file: FileRef
  lines: Lines
  nonce: number
}

/** A passage that somebody looks at in the playground. */
export interface Passage {
  path: string
  lines: Lines | null
  /** Bytes, from the first to the one after the last. */
  range: readonly [number, number] | null
  /** The words it was looked for with. */
  terms: string[]
}

interface Ui {
  left: number
  right: number
  chunks: number
  leftOpen: boolean
  rightOpen: boolean
  /** Long lines of a file are wrapped rather than scrolled to. */
  wrap: boolean
  /** A reply is given to screen readers when it is complete. */
  aloud: boolean
  /** Nothing shines through the panes. */
  solid: boolean
  /** The inspector over the chat, on screens too small for three panes. */
  sheetOpen: boolean
  pane: Pane
  /** The inspector's tab (features/inspector/tabs.tsx). */
  tab: string
  file: FileRef | null
  /** Lines to show in the open file, with a number that makes asking twice two requests. */
  reveal: Reveal | null
  /** The panel in the right pane, where the page has it: a passage in its file, or the inspector. */
  beside: PanelId
  passage: Passage | null
  /** Where the conversation is, for the way back from the playground. */
  lastChat: string
  view: 'chat' | 'raw'
  /** What is looked for in the open conversation; null while nobody looks. */
  find: string | null
  /** The message that is being asked differently. */
  editing: string | null
  dialog: DialogName | null
  /** The work whose requests the X-ray shows; null for the next request. */
  xrayOf: string | null
  /** The work whose undo is looked at. */
  undoOf: string | null
  /** The server is another version than the page. */
  stale: boolean
  set: (patch: Partial<Ui>) => void
}

const width = (key: string, { min, max, start }: { min: number; max: number; start: number }): number => {
  const value = Number(stored(key) ?? start)
  return Number.isFinite(value) ? Math.min(max, Math.max(min, value)) : start
}

/** What is on or off and kept, with how it is until somebody says otherwise. */
const FLAGS = { leftOpen: true, rightOpen: true, wrap: true, aloud: false, solid: false }
type Flag = keyof typeof FLAGS

const flags = Object.fromEntries(
  Object.entries(FLAGS).map(([flag, usual]) => [
    flag,
    stored(`${flag}`) === (usual ? 'no' : 'yes') ? !usual : usual,
  ]),
) as typeof FLAGS

export const useUi = create<Ui>(set => ({
  left: width('left', LEFT),
  right: width('right', RIGHT),
  chunks: width('chunks', CHUNKS),
  ...flags,
  sheetOpen: false,
  pane: 'chat',
  tab: 'memory',
  file: null,
  reveal: null,
  beside: 'chunks',
  passage: null,
  lastChat: '/',
  view: 'chat',
  find: null,
  editing: null,
  dialog: null,
  xrayOf: null,
  undoOf: null,
  stale: false,
  set,
}))

useUi.subscribe((now, before) => {
  if (now.left !== before.left) store('left', String(now.left))
  if (now.right !== before.right) store('right', String(now.right))
  if (now.chunks !== before.chunks) store('chunks', String(now.chunks))
  for (const flag of Object.keys(FLAGS) as Flag[])
    if (now[flag] !== before[flag]) store(`${flag}`, now[flag] ? 'yes' : 'no')
})

/** Shows a file in the inspector, whatever the screen's width. */
export function openFile(file: FileRef, lines?: Lines | null): void {
  const { reveal } = useUi.getState()
  useUi.setState({
    tab: file.root,
    file,
    rightOpen: true,
    sheetOpen: true,
    pane: 'right',
    beside: 'files',
    reveal: lines ? { file, lines, nonce: (reveal?.nonce ?? 0) + 1 } : null,
  })
}

/** The same for a file that the server, a text or an address names. */
export function openPath(path: string, lines?: Lines | null): void {
  const file = FileRef.parse(path)
  if (file) openFile(file, lines)
}

/** Shows the selected passage in its file, whatever the screen's width. */
export const showChunks = (): void =>
  useUi.setState({ beside: 'chunks', rightOpen: true, sheetOpen: true, pane: 'right' })

/** Shows the requests that made the answer of a work, or the next request. */
export const showXray = (work: string | null): void => useUi.setState({ dialog: 'xray', xrayOf: work })

/** Opens a dialog, or closes it where it is open. */
export const toggleDialog = (name: DialogName): void =>
  useUi.setState(({ dialog }) => ({ dialog: dialog === name ? null : name }))
