/** A sent request, by the origin of each piece. */
import type { SentPiece } from '@/api/types'
import { prettyJson } from '@/lib/format'
import type { Key, Translate } from '@/lib/i18n'
import { type Say, textIn } from '@/lib/server'
import type { Origin } from './parts'

const NAMES: Partial<Record<SentPiece['origin'], Key>> = {
  tools: 'xrayTools',
  history: 'sentHistory',
  retrieval: 'sentRetrieval',
  question: 'sentQuestion',
  work: 'sentWork',
}

/** The name of a piece: a part of the system prompt has its own label. */
export function nameOf(origin: SentPiece['origin'], label: string, t: Translate, say: Say): string {
  const key = NAMES[origin]
  return key ? t(key) : textIn(say, label)
}

const isMessage = (piece: SentPiece): boolean => piece.origin === 'history' || piece.origin === 'work'

const originOf = (piece: SentPiece): Origin => ({
  kind: piece.origin,
  label: piece.label,
  file: piece.file ?? null,
  tokens: piece.tokens,
  bytes: piece.bytes,
  truncated: piece.truncated,
  absent: piece.absent ?? null,
  unreadable: false,
  text: shown(piece),
  lines: piece.lines ? [piece.lines[0] ?? 1, piece.lines[1] ?? 1] : null,
  count: 1,
})

const shown = (piece: SentPiece): string =>
  piece.origin === 'file' || piece.origin === 'text' || piece.origin === 'retrieval'
    ? (piece.text ?? '')
    : prettyJson(piece.text ?? '')

/** One row for each piece; consecutive messages of the conversation share one. */
export function originsOfSent(pieces: readonly SentPiece[]): Origin[] {
  const rows: Origin[] = []
  for (const [i, piece] of pieces.entries()) {
    const row = originOf(piece)
    const last = rows.at(-1)
    const before = pieces[i - 1]
    if (last && before && isMessage(piece) && before.origin === piece.origin) {
      rows[rows.length - 1] = {
        ...last,
        label: '',
        tokens: last.tokens + row.tokens,
        bytes: last.bytes + row.bytes,
        text: `${last.text}\n${row.text}`,
        count: last.count + 1,
      }
    } else rows.push(isMessage(piece) ? { ...row, label: '' } : row)
  }
  return rows
}
