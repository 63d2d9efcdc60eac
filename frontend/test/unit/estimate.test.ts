import { describe, expect, it } from 'vitest'
import { heightOfAnswer, heightOfMessage } from '@/features/chat/estimate'
import type { AssistantEntry, Segment, UserEntry } from '@/thread/model'

const message = (content: string): UserEntry => ({
  kind: 'user',
  id: 'm',
  workId: 'w',
  content,
  attachments: [],
  createdAt: null,
})
const answer = (...segments: Segment[]): AssistantEntry => ({
  kind: 'assistant',
  id: 'a',
  workId: 'w',
  segments,
  outcome: { kind: 'done' },
  model: null,
  insteadOf: null,
  leftOut: 0,
  messageIds: [],
  createdAt: null,
  fresh: false,
})

describe('the estimate of a height', () => {
  it('is one line for a short text', () => {
    expect(heightOfMessage(message('Hi'))).toBe(54)
    expect(heightOfAnswer(answer({ kind: 'text', text: 'Hello' }))).toBe(92)
  })

  it('grows with lines, long lines and collapsed items', () => {
    const one = heightOfAnswer(answer({ kind: 'text', text: 'a' }))
    expect(heightOfAnswer(answer({ kind: 'text', text: 'a\nb\nc' }))).toBe(one + 44)
    expect(heightOfAnswer(answer({ kind: 'text', text: 'x'.repeat(200) }))).toBe(one + 44)
    expect(
      heightOfAnswer(answer({ kind: 'thinking', text: 'x'.repeat(9000) }, { kind: 'text', text: 'a' })),
    ).toBe(one + 40)
  })
})
