/**
 * The tabs above the editor: the files that a person has opened, in that order. They follow what is shown and what is
 * renamed or deleted, and survive a reload. Closing a tab never loses text: edits stay open without a tab.
 */
import { create } from 'zustand'
import { t } from '@/lib/i18n'
import { FileRef, PROJECT_TAB, ROOTS, tabOf } from '@/lib/roots'
import { store, stored } from '@/lib/storage'
import { bufferOf, dropFile, openFileOf, putFile, useBuffers } from '@/stores/buffers'
import { toast } from '@/stores/toasts'
import { openFile, useUi } from '@/stores/ui'
import { saveUnasked } from './actions'
import { type Buffer, isDirty } from './buffer'
import '@/lib/later'

/** Maximum number of tabs. One more closes the first one without edits. */
export const MOST_TABS = 12
const KEY = 'fileTabs'

interface Kept {
  tabs: readonly FileRef[]
  shown: FileRef | null
  /** The inspector's tab: that of `shown`, unless a person chose another one since. */
  folder: string | null
}

function kept(): Kept {
  try {
    const read: Partial<Record<keyof Kept, unknown>> = JSON.parse(stored(KEY) ?? '{}')
    const names: unknown[] = Array.isArray(read.tabs) ? read.tabs : []
    const files = names.flatMap(name => (typeof name === 'string' ? (FileRef.parse(name) ?? []) : []))
    const unique = [...new Set(files)].slice(0, MOST_TABS)
    const shown = unique.find(file => `${file}` === read.shown) ?? null
    return {
      tabs: unique,
      shown,
      folder: [...ROOTS, PROJECT_TAB].find(tab => tab === read.folder) ?? (shown && tabOf(shown.root)),
    }
  } catch {
    return { tabs: [], shown: null, folder: null }
  }
}

const before = kept()
export const useTabs = create<{ tabs: readonly FileRef[] }>(() => ({ tabs: before.tabs }))

const setTabs = (tabs: readonly FileRef[]): void => useTabs.setState({ tabs })

function isEdited(file: FileRef): boolean {
  const buffer = bufferOf(file)
  return buffer !== null && (isDirty(buffer) || buffer.state.kind !== 'clean')
}

/** The tabs with one more at the end, within the maximum. */
function added(tabs: readonly FileRef[], file: FileRef): readonly FileRef[] {
  if (tabs.includes(file)) return tabs
  if (tabs.length < MOST_TABS) return [...tabs, file]
  const first = tabs.find(tab => !isEdited(tab)) ?? tabs[0]
  return [...tabs.filter(tab => tab !== first), file]
}

/** The tab that is shown after `file` is closed. */
const neighbor = (tabs: readonly FileRef[], file: FileRef): FileRef | null => {
  const at = tabs.indexOf(file)
  return tabs[at + 1] ?? tabs[at - 1] ?? null
}

/**
 * Closes a tab. A file with edits keeps them, and a toast leads back to it. Edits that are to be discarded come back with the toast.
 */
export function closeTab(file: FileRef, edits: 'keep' | 'discard' = 'keep'): void {
  const { tabs } = useTabs.getState()
  const next = neighbor(tabs, file)
  saveUnasked(file)
  const edited = isEdited(file)
  const state = openFileOf(file)
  const isSaving = bufferOf(file)?.state.kind === 'saving'
  setTabs(tabs.filter(tab => tab !== file))
  if (useUi.getState().file === file) useUi.setState({ file: next, reveal: null })
  if (!edited) dropFile(file)
  else if (state && edits === 'discard') {
    const run = () => {
      putFile(file, state)
      openFile(file)
    }
    dropFile(file)
    toast(t('tabDiscarded', { path: file.shown }), { action: { label: t('undo'), run } })
  } else if (!isSaving)
    toast(t('tabKept', { path: file.shown }), { action: { label: t('tabShow'), run: () => openFile(file) } })
}

/** Shows the tab `step` places from the one that is shown. */
export function stepTab(step: 1 | -1): void {
  const { tabs } = useTabs.getState()
  const { file } = useUi.getState()
  const at = file ? tabs.indexOf(file) : -1
  const next = tabs[at < 0 ? 0 : (at + step + tabs.length) % tabs.length]
  if (next) openFile(next)
}

/** The name on each tab: that of the file, with its folder if two files have the same name or it is a SKILL.md. */
export function namesOf(tabs: readonly FileRef[]): readonly string[] {
  const parts = tabs.map(file => file.shown.split('/'))
  const last = parts.map(part => part.at(-1) ?? '')
  return last.map((name, i) => {
    const isAmbiguous = name === 'SKILL.md' || last.some((other, n) => n !== i && other === name)
    return isAmbiguous ? (parts[i] ?? []).slice(-2).join('/') : name
  })
}

/** The file whose buffer has this undo history: that of a renamed file moves with its buffer. */
const fileWith = (model: Buffer['model']): FileRef | null => {
  const open = Object.values(useBuffers.getState().files)
  const found = open.find(file => file.phase === 'open' && file.buffer.model === model)
  return found?.phase === 'open' ? found.buffer.file : null
}

/** A tab of the last visit has no buffer until it is shown. */
useBuffers.subscribe(({ moved }, previous) => {
  if (!moved || moved === previous.moved) return
  const { from, to } = moved
  const { tabs } = useTabs.getState()
  if (!tabs.includes(from)) return
  setTabs(tabs.flatMap(tab => (tab !== from ? tab : to && !tabs.includes(to) ? to : [])))
})

useBuffers.subscribe(({ files }, previous) => {
  for (const file of useTabs.getState().tabs) {
    const was = previous.files[`${file}`]
    if (!was || files[`${file}`]) continue
    const moved = was.phase === 'open' ? fileWith(was.buffer.model) : null
    const { tabs } = useTabs.getState()
    setTabs(tabs.flatMap(tab => (tab !== file ? tab : moved && !tabs.includes(moved) ? moved : [])))
  }
})

useUi.subscribe(({ file, tab }, was) => {
  if (tab !== was.tab) keep()
  if (file === was.file) return
  const { tabs } = useTabs.getState()
  if (file) setTabs(added(tabs, file))
  // The file that was shown is deleted.
  else if (was.file && !tabs.includes(was.file) && tabs.length > 0)
    useUi.setState({ file: tabs.at(-1) ?? null })
  keep()
})
useTabs.subscribe(keep)

function keep(): void {
  const { file, tab: folder } = useUi.getState()
  const shown = file ? `${file}` : null
  store(KEY, JSON.stringify({ tabs: useTabs.getState().tabs.map(tab => `${tab}`), shown, folder }))
}

const { file, tab } = useUi.getState()
if (file) setTabs(added(before.tabs, file))
else useUi.setState({ file: before.shown, tab: tab ?? before.folder })

/** What a tab shows beside its name. */
export type TabMark = 'edited' | 'conflict' | 'gone' | null

export function markOf(file: FileRef): TabMark {
  const state = openFileOf(file)
  if (state?.phase === 'failed') return state.missing ? 'gone' : null
  if (state?.phase !== 'open') return null
  const { kind } = state.buffer.state
  if (kind === 'deleted') return 'gone'
  if (kind === 'conflict') return 'conflict'
  return isDirty(state.buffer) ? 'edited' : null
}
