import { useEffect, useRef } from 'react'
import type { CitedMessage, Message } from '@/api/types'
import { Markdown } from '@/components/markdown/Markdown'
import { Sought } from '@/components/markdown/sought'
import { Button } from '@/components/ui/Button'
import { SentFiles } from '@/features/attach/SentFiles'
import { cn } from '@/lib/cn'
import { markIn } from '@/lib/highlights'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import { wordsOf } from '@/lib/needle'
import { attachmentsOf } from '@/thread/advance'

interface Props {
  sessionId: string
  cited: CitedMessage
  /** The words by which the message was found, if any. */
  words: string
  /** Null if the branch cannot be switched to now. */
  onSwitch: (() => void) | null
}

/** Frames in which rows around the message are measured, and may move it. */
const FRAMES = 12

/** A cited message that the conversation does not show, with what was said around it: only to read. */
export default function CitedMessages({ sessionId, cited, words, onSwitch }: Props) {
  const t = useT()
  const target = useRef<HTMLLIElement>(null)
  useEffect(() => {
    const element = target.current
    if (!element) return
    let left = FRAMES
    let frame = 0
    const show = () => {
      element.scrollIntoView({ block: 'center' })
      if (--left > 0) frame = requestAnimationFrame(show)
    }
    frame = requestAnimationFrame(show)
    const unmark = markIn(element, wordsOf(words))
    return () => {
      cancelAnimationFrame(frame)
      unmark()
    }
  }, [words])
  return (
    <section aria-label={t('citedLabel')} className="rounded-lg border border-dashed px-3 py-2.5 text-[13px]">
      <div className="mb-2 flex flex-wrap items-center gap-2 text-fg-2 text-small">
        <p className="min-w-0 flex-1">{t(NOTES[cited.position])}</p>
        {onSwitch && (
          <Button size="small" onClick={onSwitch}>
            {t('citedSwitch')}
          </Button>
        )}
      </div>
      <ol className="space-y-2">
        {cited.messages.map((message, i) => (
          <li
            key={message.id ?? i}
            ref={i === cited.index ? target : null}
            aria-current={i === cited.index || undefined}
            className={cn(
              'rounded-lg border bg-card px-3 py-2',
              i === cited.index ? 'border-accent text-fg' : 'text-fg-2',
            )}
          >
            <p className="mb-0.5 font-medium text-fg-3 text-meta">
              {t(message.role === 'user' ? 'you' : 'appName')}
            </p>
            <Sought value={i === cited.index ? words : ''}>
              <Content message={message} sessionId={sessionId} />
            </Sought>
          </li>
        ))}
      </ol>
    </section>
  )
}

const NOTES = { current: 'citedLabel', compacted: 'citedCompacted', branch: 'citedBranch' } as const

function Content({ message, sessionId }: { message: Message; sessionId: string }) {
  const { role, content, tool_calls } = message
  return (
    <>
      {role === 'user' ? (
        <p className="whitespace-pre-wrap [overflow-wrap:anywhere]">{content}</p>
      ) : (
        <Markdown text={content ?? ''} />
      )}
      <SentFiles files={attachmentsOf(message, sessionId)} />
      {tool_calls?.map((call, at) => (
        <p key={call.id ?? at} className="truncate font-mono text-[12px] text-fg-2" title={call.input}>
          {call.tool} {call.input}
        </p>
      ))}
    </>
  )
}
