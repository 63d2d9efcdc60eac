import { useRoute } from 'wouter'
import type { Message } from '@/api/types'
import { Markdown } from '@/components/markdown/Markdown'
import { SentFiles } from '@/features/attach/SentFiles'
import { useT } from '@/lib/i18n'
import { attachmentsOf } from '@/thread/advance'

/** Messages of the open conversation before a summary replaced them. */
export function CompactedMessages({ messages }: { messages: Message[] }) {
  const t = useT()
  const [, params] = useRoute<{ id: string }>('/s/:id/*?')
  const sessionId = params?.id ?? ''
  return (
    <ol className="space-y-2">
      {messages.map((message, i) => (
        <li key={message.id ?? i} className="rounded-lg border bg-card px-3 py-2">
          <p className="mb-0.5 font-medium text-fg-3 text-meta">
            {t(message.role === 'user' ? 'you' : 'appName')}
          </p>
          {message.role === 'user' ? (
            <p className="whitespace-pre-wrap [overflow-wrap:anywhere]">{message.content}</p>
          ) : (
            <Markdown text={message.content ?? ''} />
          )}
          <SentFiles files={attachmentsOf(message, sessionId)} />
          {message.tool_calls?.map((call, at) => (
            <p key={call.id ?? at} className="truncate font-mono text-[12px] text-fg-2" title={call.input}>
              {call.tool} {call.input}
            </p>
          ))}
        </li>
      ))}
    </ol>
  )
}
