/** Showing a place that a text, a hit or an address names: the file may be gone, and the lines with it. */
import type { Place } from '@/lib/citation'
import { placeOf } from '@/lib/citation'
import { t } from '@/lib/i18n'
import { traitsOf } from '@/lib/roots'
import { announce } from '@/stores/announcer'
import { useBuffers } from '@/stores/buffers'
import { toast } from '@/stores/toasts'
import { openFile, type Passage, useUi } from '@/stores/ui'
import { open } from './actions'
import { OpenEditor } from './EditorPane'
import { languageOf } from './languages'

/** A place, and where it is in a file that has no lines. */
export interface Sought extends Place {
  range?: Passage['range']
}

export async function openPassage({ path, lines, range }: Sought): Promise<void> {
  OpenEditor.preload()
  void languageOf(path)
  await open(path)
  const file = useBuffers.getState().files[path]
  if (file?.phase === 'failed' && !file.missing && traitsOf(path)?.searched) {
    const passage = { path, lines, range: range ?? null, terms: [] }
    useUi.setState({ passage })
    return openFile(path)
  }
  if (file?.phase === 'failed') {
    const words = file.missing ? t('noSuchFile', { path }) : t('fileProblem', { reason: file.reason })
    return toast(words, { tone: 'bad' })
  }
  if (!lines) return openFile(path)
  const [a, b] = lines
  const last =
    file?.phase === 'open' ? file.buffer.text.replace(/\n$/, '').split('\n').length : Number.POSITIVE_INFINITY
  openFile(path, a > last ? undefined : lines)
  if (a > last) toast(t('noSuchLine', { path, a, n: last }), { tone: 'bad' })
  else announce(a === b ? t('openedLine', { path, a }) : t('openedLines', { path, a, b }))
}

/** The place in an address like `/?file=knowledge/a.md&lines=12-20`. */
export function placeInAddress(search: string): Place | null {
  const query = new URLSearchParams(search)
  const file = query.get('file')
  const lines = query.get('lines')
  return file === null ? null : placeOf(lines ? `${file}:${lines}` : file)
}
