import { expect, it } from 'vitest'
import type { History, SentPiece } from '@/api/types'
import { originsOfSent } from '@/features/xray/sent'
import { fromHistory } from '@/thread/history'

const piece = (origin: SentPiece['origin'], text: string, more: Partial<SentPiece> = {}): SentPiece => ({
  origin,
  label: '',
  bytes: text.length,
  tokens: 1,
  truncated: false,
  text,
  ...more,
})

it('consecutive messages of the conversation are one row, and files keep their lines', () => {
  const rows = originsOfSent([
    piece('tools', '[]'),
    piece('file', 'You are kind.', { label: 'Soul', file: 'workspace/SOUL.md', lines: [3, 4] }),
    piece('history', '{"role":"user"}', { label: 'user' }),
    piece('history', '{"role":"assistant"}', { label: 'assistant' }),
    piece('retrieval', '[1] memory/a.md:1-2'),
    piece('question', '{"role":"user"}'),
    piece('work', '{"role":"assistant"}'),
    piece('work', '{"role":"tool"}'),
  ])
  expect(rows.map(row => [row.kind, row.count, row.tokens])).toEqual([
    ['tools', 1, 1],
    ['file', 1, 1],
    ['history', 2, 2],
    ['retrieval', 1, 1],
    ['question', 1, 1],
    ['work', 2, 2],
  ])
  expect(rows[1]).toMatchObject({ label: 'Soul', file: 'workspace/SOUL.md', lines: [3, 4] })
  expect(rows[2]?.text).toBe('{\n  "role": "user"\n}\n{\n  "role": "assistant"\n}')
})

it('retrieved passages come first in their answer after a reload', () => {
  const thread = fromHistory({
    session_id: 's',
    title: '',
    last_event_id: 'b.1',
    running: null,
    messages: [
      { role: 'user', content: 'q', work_id: 'w', id: 'm1' },
      { role: 'assistant', content: 'a', work_id: 'w', id: 'm2' },
      { role: 'user', content: 'q', work_id: 'v', id: 'm3' },
      { role: 'assistant', content: 'b', work_id: 'v', id: 'm4' },
    ],
    retrieved: [{ work_id: 'w', hits: 2 }],
  } as History)
  const kinds = thread.entries.map(entry =>
    entry.kind === 'assistant' ? entry.segments.map(s => s.kind) : [],
  )
  expect(kinds).toEqual([[], ['retrieved', 'text'], [], ['text']])
})
