import { MessageCircleQuestion } from 'lucide-react'
import { Visible } from '@/components/Visible'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import type { ElicitedAnswer } from '@/thread/model'

const WORDS = { accept: 'elicitedAccept', decline: 'elicitedDecline', cancel: 'elicitedCancel' } as const

/** What a person answered to the server of a tool while it carried out a call. */
export default function Elicited({ answers }: { answers: readonly ElicitedAnswer[] }) {
  const t = useT()
  return answers.map((given, at) => (
    <div key={at} className="flex gap-1.5 text-fg-2 text-small [overflow-wrap:anywhere]">
      <MessageCircleQuestion size={13} aria-hidden className="mt-0.5 shrink-0" />
      <div className="min-w-0">
        <p>{t(WORDS[given.action], { server: given.server })}</p>
        {Object.entries(given.content).map(([name, value]) => (
          <p key={name} className="font-mono text-[12px]">
            <Visible text={`${name}: ${Array.isArray(value) ? value.join(', ') : String(value)}`} />
          </p>
        ))}
      </div>
    </div>
  ))
}
