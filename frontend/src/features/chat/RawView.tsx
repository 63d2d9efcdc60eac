import type { Message } from '@/api/types'
import { CopyButton } from '@/components/ui/CopyButton'
import { QueryError } from '@/components/ui/QueryError'
import { Skeleton } from '@/components/ui/Skeleton'
import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'

const TONE: Record<string, string> = { system: 'text-rag', user: 'text-accent', assistant: 'text-ok' }

interface Props {
  messages: Message[] | undefined
  error: unknown
}

/** The messages as they are sent to the model, including the system prompt. */
export default function RawView({ messages, error }: Props) {
  const t = useT()
  if (error) return <QueryError error={error} className="flex-1 p-6 text-center" />
  if (!messages)
    return (
      <div className="flex-1 p-4">
        <Skeleton label={t('loading')} rows={6} />
      </div>
    )
  return (
    <div tabIndex={0} role="group" aria-label={t('raw')} className="scroll min-h-0 flex-1 px-4 py-3">
      <div className="mx-auto max-w-[760px] space-y-3">
        <div className="flex items-center justify-between gap-2 text-fg-2 text-small">
          <span>{t('rawHint')}</span>
          <CopyButton label={t('copy')} words={t('copy')} text={() => JSON.stringify(messages, null, 2)} />
        </div>
        {messages.map((message, i) => (
          <RawMessage key={message.id ?? i} message={message} />
        ))}
      </div>
    </div>
  )
}

function RawMessage({ message }: { message: Message }) {
  const t = useT()
  const { role, content, attachments, thinking, tool_calls } = message
  return (
    <div className="overflow-hidden rounded-lg border bg-card">
      <div className="flex items-center justify-between border-b py-0.5 ps-3 pe-1">
        <code className={cn('font-mono font-semibold text-[12px]', TONE[role])}>{role}</code>
        <CopyButton label={t('copyMessage')} text={() => JSON.stringify(message, null, 2)} />
      </div>
      {thinking && <Raw name="thinking" text={thinking} />}
      {attachments?.map((file, at) => (
        <Raw
          key={at}
          name={file.name}
          text={file.picture ? JSON.stringify(file.picture, null, 2) : (file.content ?? '')}
        />
      ))}
      {content && <Raw text={content} />}
      {tool_calls && tool_calls.length > 0 && (
        <Raw name="tool_calls" text={JSON.stringify(tool_calls, null, 2)} />
      )}
    </div>
  )
}

function Raw({ name, text }: { name?: string; text: string }) {
  return (
    <div className="px-3 py-2 [&+&]:border-t">
      {name && <p className="mb-1 font-mono text-fg-3 text-meta">{name}</p>}
      <pre className="plain whitespace-pre-wrap [overflow-wrap:anywhere]">{text}</pre>
    </div>
  )
}
