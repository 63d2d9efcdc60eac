/** The layout of the panes, and what is open. Widths and the two pane switches survive a reload. */
import { create } from 'zustand'
import type { DialogName } from '@/app/dialogTable'
import type { PanelId } from '@/app/panels'
import type { Lines } from '@/lib/citation'
import { FileRef, PROJECT_TAB, projectOf, tabOf } from '@/lib/roots'
import { store, stored } from '@/lib/storage'

export type Pane = 'left' | 'chat' | 'right'
/** A large screen has room for wider panes beside the chat, whose lines stay as long as is good to read. */
const LARGE = innerWidth >= 1920
export const LEFT = { min: 200, max: 420, start: LARGE ? 320 : 268 } as const
export const RIGHT = { min: 300, max: 720, start: LARGE ? 600 : 400 } as const
/** The right pane beside the playground, which needs more room to show a file. */
export const CHUNKS = { min: 300, max: 900, start: 520 } as const

export interface Reveal {
  file: FileRef
  lines: Lines
  nonce: number
}

/** The passage that is selected in the playground. */
export interface Passage {
  path: string
  lines: Lines | null
  /** Byte range, end exclusive. */
  range: readonly [number, number] | null
  /** The words of the search that found it. */
  terms: string[]
}

export type AccountPart = 'profile' | 'password' | 'tokens'

/** What a dialog shows, beyond its name. */
interface DialogArguments {
  /** The work whose requests are shown; null for the next request. */
  xray: { work: string | null }
  /** The work that is unfolded at first; null for the newest. */
  operations: { work: string | null }
  /** The work whose changes are shown at first; null for the whole conversation. */
  changes: { work: string | null }
  /** The work after which everything is undone. */
  undoLater: { work: string }
  /** The work whose undo is previewed. */
  undo: { work: string }
  /** The work that is to be withdrawn. */
  withdraw: { work: string }
  /** The conversation whose labels are chosen. */
  labels: { session: string }
  /** The conversation whose choices are shown. */
  conversation: { session: string }
  /** What the projects are managed with at first: their list, or the form of a new one. */
  projects: { begin: 'list' | 'new' }
  /** The part of the account that is shown at first. */
  account: { part?: AccountPart }
  /** What is searched for in the settings at first. */
  settings: { search?: string }
}
type Plain = Exclude<DialogName, keyof DialogArguments>

/** An open dialog. */
export type OpenDialog =
  | { name: Plain }
  | { [Name in keyof DialogArguments]: { name: Name } & DialogArguments[Name] }[keyof DialogArguments]

/** The project whose files a person wants to see, while the conversation beside it works in the same place. */
export interface ShownProject {
  id: string
  /** The project of that conversation, or null; undefined until it is known. */
  beside: string | null | undefined
}

interface Ui {
  left: number
  right: number
  chunks: number
  leftOpen: boolean
  rightOpen: boolean
  /** The status area below the conversations is shown whole, if the window is high enough. */
  statusOpen: boolean
  /** Long lines of a file are wrapped, not scrolled. */
  wrap: boolean
  /** Screen readers announce a reply when it is complete. */
  aloud: boolean
  /** The panes are opaque. */
  solid: boolean
  /** The inspector is open over the chat, on screens too narrow for three panes. */
  sheetOpen: boolean
  pane: Pane
  /** The inspector's tab (features/inspector/tabs.tsx); null for the first. */
  tab: string | null
  file: FileRef | null
  /** The project whose files are shown, if it is not that of the conversation. */
  project: ShownProject | null
  /** Lines to show in the open file, with a number that distinguishes two requests for the same lines. */
  reveal: Reveal | null
  /** The panel in the right pane, if the page offers it: a passage in its file, or the inspector. */
  beside: PanelId
  passage: Passage | null
  /** The address of the conversation, for the way back from the playground. */
  lastChat: string
  view: 'chat' | 'raw'
  /** The words searched for in the open conversation; null while the search is closed. */
  find: string | null
  /** The message at which that search starts; null for the newest match. */
  findAt: string | null
  /** The attached file of that message that has the words; it is shown until it is closed. */
  findFile: string | null
  /** The message that is being edited. */
  editing: string | null
  dialog: OpenDialog | null
  /** The server has a different version than the page. */
  stale: boolean
  set: (patch: Partial<Ui>) => void
}

const width = (key: string, { min, max, start }: { min: number; max: number; start: number }): number => {
  const value = Number(stored(key) ?? start)
  return Number.isFinite(value) ? Math.min(max, Math.max(min, value)) : start
}

/** The switches that are stored, with their defaults. */
const FLAGS = { leftOpen: true, rightOpen: true, statusOpen: true, wrap: true, aloud: false, solid: false }
type Flag = keyof typeof FLAGS

const flags = Object.fromEntries(
  Object.entries(FLAGS).map(([flag, usual]) => [
    flag,
    stored(`${flag}`) === (usual ? 'no' : 'yes') ? !usual : usual,
  ]),
) as typeof FLAGS

function storedProject(): ShownProject | null {
  try {
    const { id, beside }: Partial<ShownProject> = JSON.parse(stored('projectShown') ?? '{}')
    return typeof id === 'string' ? { id, beside } : null
  } catch {
    return null
  }
}

export const useUi = create<Ui>(set => ({
  left: width('left', LEFT),
  right: width('right', RIGHT),
  chunks: width('chunks', CHUNKS),
  ...flags,
  sheetOpen: false,
  pane: 'chat',
  tab: null,
  file: null,
  project: storedProject(),
  reveal: null,
  beside: 'chunks',
  passage: null,
  lastChat: '/',
  view: 'chat',
  find: null,
  findAt: null,
  findFile: null,
  editing: null,
  dialog: null,
  stale: false,
  set,
}))

useUi.subscribe((now, before) => {
  if (now.left !== before.left) store('left', String(now.left))
  if (now.right !== before.right) store('right', String(now.right))
  if (now.chunks !== before.chunks) store('chunks', String(now.chunks))
  if (now.project !== before.project) store('projectShown', now.project && JSON.stringify(now.project))
  for (const flag of Object.keys(FLAGS) as Flag[])
    if (now[flag] !== before[flag]) store(`${flag}`, now[flag] ? 'yes' : 'no')
})

/** Shows a file in the inspector, on any width of the screen. */
export function openFile(file: FileRef, lines?: Lines | null): void {
  const { reveal, tab, project } = useUi.getState()
  const id = projectOf(file.root)
  useUi.setState({
    tab: file.traits.tab ? tabOf(file.root) : tab,
    project: id === null || id === project?.id ? project : { id, beside: undefined },
    file,
    rightOpen: true,
    sheetOpen: true,
    pane: 'right',
    beside: 'files',
    reveal: lines ? { file, lines, nonce: (reveal?.nonce ?? 0) + 1 } : null,
  })
}

/** Shows the files of a project, on any width of the screen. */
export const showProject = (id: string): void =>
  useUi.setState({
    tab: PROJECT_TAB,
    project: { id, beside: undefined },
    ...{ rightOpen: true, sheetOpen: true, pane: 'right', beside: 'files' },
  })

/** The same as `openFile` for a path from the server, a text or an address. */
export function openPath(path: string, lines?: Lines | null): void {
  const file = FileRef.parse(path)
  if (file) openFile(file, lines)
}

/** Shows the selected passage in its file, on any width of the screen. */
export const showChunks = (): void =>
  useUi.setState({ beside: 'chunks', rightOpen: true, sheetOpen: true, pane: 'right' })

/** Brings the page in the middle to the front, on any width of the screen. */
export const showMiddle = (): void => useUi.setState({ pane: 'chat', sheetOpen: false })

export const openDialog = (dialog: OpenDialog): void => useUi.setState({ dialog })
/** Opens the settings with a search in them. */
export const searchSettings = (search: string): void => openDialog({ name: 'settings', search })
export const closeDialog = (): void => useUi.setState({ dialog: null })

/** Opens a dialog, or closes it if it is open. */
export const toggleDialog = (name: Plain | 'settings'): void =>
  useUi.setState(({ dialog }) => ({ dialog: dialog?.name === name ? null : { name } }))
