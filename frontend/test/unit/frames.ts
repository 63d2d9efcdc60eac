/** A work with everything in it: its frames as the server would send them, and its history at any point. */
import type { Frame, History, Message } from '@/api/types'
import type { Envelope } from '@/thread/advance'

export const BOOT = 'b7'
const WORK = 'w1'

const tool = (id: string, path: string, index: number): Frame[] => [
  { type: 'tool_start', tool: 'read_file', input: path, id, arguments: { path }, index, dialogue: 0 },
  {
    type: 'tool_end',
    tool: 'read_file',
    output: `text of ${path}`,
    id,
    status: 'done',
    operation_code: [],
    result: undefined,
    duration_ms: 8,
  },
]

export const FRAMES: Frame[] = [
  { type: 'user_message', work_id: WORK, content: 'Hello', message_id: 'm1' },
  { type: 'status', kind: 'reading_prompt', progress: 0.4, message: 'reading the prompt' },
  { type: 'thinking', content: 'Let me ' },
  { type: 'thinking', content: 'look.' },
  { type: 'token', content: 'I ' },
  { type: 'token', content: 'look:' },
  ...tool('c1', 'memory/MEMORY.md', 0),
  ...tool('c2', 'memory/USER.md', 1),
  { type: 'new_response' },
  { type: 'token', content: 'You are ' },
  { type: 'token', content: '**Ada**.' },
  { type: 'done', content: 'I look:You are **Ada**.', session_id: 's', work_id: WORK, stop_reason: 'done' },
  { type: 'title', session_id: 's', title: 'Who am I' },
]

export const ENVELOPES: Envelope[] = FRAMES.map((frame, i) => ({ id: `${BOOT}.${i + 1}`, frame }))

function append(message: Message, text: string): void {
  message.content = (message.content ?? '') + text
}

/** What `GET history` returns right after the first `count` frames, written independently of the reducer. */
export function historyAt(count: number): History {
  const messages: Message[] = []
  let running: History['running'] = null
  let title = ''
  let fresh = false
  const last = (): Message => {
    const message = messages.at(-1)
    if (message?.role === 'assistant' && !fresh) return message
    fresh = false
    const next: Message = { role: 'assistant', content: '', work_id: WORK, id: `a${messages.length}` }
    messages.push(next)
    return next
  }
  for (const frame of FRAMES.slice(0, count)) {
    if (frame.type === 'user_message') {
      messages.push({ role: 'user', content: frame.content, id: frame.message_id, work_id: WORK })
      running = { work_id: WORK }
    } else if (frame.type === 'token') append(last(), frame.content)
    else if (frame.type === 'thinking') last().thinking = (last().thinking ?? '') + frame.content
    else if (frame.type === 'tool_start') {
      const { tool: name, input, id, index, dialogue } = frame
      const calls = last().tool_calls ?? []
      last().tool_calls = [
        ...calls,
        { tool: name, input, id, arguments: frame.arguments, output: '', status: 'running', index, dialogue },
      ]
    } else if (frame.type === 'tool_end') {
      const { id, output, status, duration_ms } = frame
      last().tool_calls = last().tool_calls?.map(call =>
        call.id === id ? { ...call, output, status, duration_ms } : call,
      )
    } else if (frame.type === 'new_response') fresh = true
    else if (frame.type === 'done') {
      last().stop_reason = frame.stop_reason
      running = null
    } else if (frame.type === 'title') title = frame.title
  }
  return {
    session_id: 's',
    title,
    messages: structuredClone(messages),
    last_event_id: `${BOOT}.${count}`,
    running,
  }
}
