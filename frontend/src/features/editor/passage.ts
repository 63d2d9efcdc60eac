/** Shows a place that a text, a hit or an address names; the file or the lines may be gone. */
import type { Place } from '@/lib/citation'
import { placeOf } from '@/lib/citation'
import { t } from '@/lib/i18n'
import { FileRef, isSearchFolder } from '@/lib/roots'
import { announce } from '@/stores/announcer'
import { openFileOf } from '@/stores/buffers'
import { toast } from '@/stores/toasts'
import { openFile, type Passage, useUi } from '@/stores/ui'
import { open } from './actions'
import { OpenEditor } from './EditorPane'
import { languageOf } from './languages'

/** A place, with its range in a file that has no lines. */
export interface Sought extends Place {
  range?: Passage['range']
}

export async function openPassage({ path, lines, range }: Sought): Promise<void> {
  const file = FileRef.parse(path)
  if (!file) return toast(t('noSuchFile', { path }), { tone: 'bad' })
  OpenEditor.preload()
  void languageOf(path)
  await open(file)
  const state = openFileOf(file)
  if (state?.phase === 'failed' && !state.missing && isSearchFolder(file.root)) {
    const passage = { path, lines, range: range ?? null, terms: [] }
    useUi.setState({ passage })
    return openFile(file)
  }
  if (state?.phase === 'failed') {
    const words = state.missing ? t('noSuchFile', { path }) : t('fileProblem', { reason: state.reason })
    return toast(words, { tone: 'bad' })
  }
  if (!lines) return openFile(file)
  const [a, b] = lines
  const last =
    state?.phase === 'open'
      ? state.buffer.text.replace(/\n$/, '').split('\n').length
      : Number.POSITIVE_INFINITY
  openFile(file, a > last ? undefined : lines)
  const places = { path, a: `${a}`, b: `${b}` }
  if (a > last) toast(t('noSuchLine', { ...places, n: last }), { tone: 'bad' })
  else announce(t(a === b ? 'openedLine' : 'openedLines', places))
}

/** The place in an address such as `/?file=knowledge/a.md&lines=12-20`. */
export function placeInAddress(search: string): Place | null {
  const query = new URLSearchParams(search)
  const file = query.get('file')
  const lines = query.get('lines')
  return file === null ? null : placeOf(lines ? `${file}:${lines}` : file)
}
