import { QueryError } from '@/components/ui/QueryError'
import '@/lib/later'
import { ChevronLeft } from 'lucide-react'
import { useState } from 'react'
import { useCompactedMessages, useCompactedParts } from '@/api/queries'
import type { DeletedSession } from '@/api/types'
import { IconButton } from '@/components/ui/Button'
import { Dialog } from '@/components/ui/Dialog'
import { Skeleton } from '@/components/ui/Skeleton'
import { useT } from '@/lib/i18n'
import { CompactedMessages } from './CompactedMessages'
import { CompactedPart } from './CompactedPart'
import { DeletedFiles, DeletedSessions } from './Deleted'
import { Section } from './Section'

interface Props {
  open: boolean
  onOpenChange: (open: boolean) => void
  /** The session whose compacted parts are shown; null if none is open. */
  sessionId: string | null
  onRestore: (session: DeletedSession) => void
  /** Puts compacted messages back into the open conversation. */
  onBringBack: (name: string) => void
}

/** What can be recovered: compacted parts of the open conversation, deleted conversations and files. */
export default function RecoveryDialog({ open, onOpenChange, sessionId, onRestore, onBringBack }: Props) {
  const t = useT()
  const [reading, setReading] = useState<string | null>(null)
  return (
    <Dialog size="wide" open={open} onOpenChange={onOpenChange} title={t('recovery')}>
      {reading !== null && sessionId ? (
        <Reading sessionId={sessionId} name={reading} onBack={() => setReading(null)} />
      ) : (
        <div className="space-y-5">
          {sessionId && <Compacted sessionId={sessionId} onRead={setReading} onBringBack={onBringBack} />}
          <DeletedSessions onRestore={onRestore} />
          <DeletedFiles />
        </div>
      )}
    </Dialog>
  )
}

interface CompactedProps {
  sessionId: string
  onRead: (name: string) => void
  onBringBack: (name: string) => void
}

function Compacted({ sessionId, onRead, onBringBack }: CompactedProps) {
  const t = useT()
  const { data: parts, error } = useCompactedParts(sessionId)
  return (
    <Section title={t('compactedParts')} count={parts?.length} error={error} none={t('nothingCompacted')}>
      {parts?.map(part => (
        <CompactedPart
          key={part.name}
          part={part}
          onRead={() => onRead(part.name)}
          onBringBack={() => onBringBack(part.name)}
        />
      ))}
    </Section>
  )
}

interface ReadingProps {
  sessionId: string
  name: string
  onBack: () => void
}

function Reading({ sessionId, name, onBack }: ReadingProps) {
  const t = useT()
  const compacted = useCompactedMessages(sessionId, name)
  return (
    <>
      <div className="mb-2 flex items-center gap-2 text-fg-2 text-small">
        <IconButton label={t('back')} size="smallIcon" onClick={onBack}>
          <ChevronLeft size={15} aria-hidden />
        </IconButton>
        <code className="font-mono text-[12px]">sessions/archive/{name}</code>
      </div>
      {compacted.error && <QueryError error={compacted.error} />}
      {compacted.data ? (
        <CompactedMessages messages={compacted.data} />
      ) : (
        !compacted.error && <Skeleton label={t('loading')} rows={5} />
      )}
    </>
  )
}
