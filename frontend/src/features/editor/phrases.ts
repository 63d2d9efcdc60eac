/** The texts of CodeMirror's own interface, in the language of the page. */
import { EditorState, type Extension } from '@codemirror/state'
import { type Key, t } from '@/lib/i18n'
import '@/lib/later'

export const PHRASES: Readonly<Record<string, Key>> = {
  Find: 'phraseFind',
  Replace: 'phraseReplace',
  next: 'phraseNext',
  previous: 'phrasePrevious',
  all: 'phraseAll',
  'match case': 'phraseCase',
  regexp: 'phraseRegexp',
  'by word': 'phraseWord',
  replace: 'phraseReplaceOne',
  'replace all': 'phraseReplaceAll',
  '$ unchanged lines': 'phraseUnchangedLines',
  close: 'phraseClose',
  'current match': 'phraseMatch',
  'on line': 'phraseOnLine',
  'replaced match on line $': 'phraseReplacedOn',
  'replaced $ matches': 'phraseReplaced',
  'Go to line': 'phraseGoTo',
  go: 'phraseGo',
  'Fold line': 'phraseFold',
  'Unfold line': 'phraseUnfold',
  'Folded lines': 'phraseFolded',
  'Unfolded lines': 'phraseUnfolded',
  to: 'phraseTo',
  'folded code': 'phraseHidden',
  unfold: 'phraseShow',
  'Selection deleted': 'phraseDeleted',
  'Control character': 'phraseControl',
}

export const phrases = (): Extension =>
  EditorState.phrases.of(Object.fromEntries(Object.entries(PHRASES).map(([said, key]) => [said, t(key)])))
