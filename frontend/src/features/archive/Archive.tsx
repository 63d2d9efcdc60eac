import { QueryError } from '@/components/ui/QueryError'
import '@/lib/later'
import { ChevronLeft } from 'lucide-react'
import { useState } from 'react'
import { useArchived, useArchives } from '@/api/queries'
import type { DeletedSession } from '@/api/types'
import { IconButton } from '@/components/ui/Button'
import { Dialog } from '@/components/ui/Dialog'
import { Skeleton } from '@/components/ui/Skeleton'
import { useT } from '@/lib/i18n'
import { ArchivedMessages } from './ArchivedMessages'
import { DeletedFiles, DeletedSessions } from './Deleted'
import { Part } from './Part'
import { Section } from './Section'

interface Props {
  open: boolean
  onOpenChange: (open: boolean) => void
  /** The session whose archives are shown beside the deleted sessions; null where none is open. */
  sessionId: string | null
  onRestore: (session: DeletedSession) => void
  /** Puts the messages of an archive back into the open conversation. */
  onBringBack: (name: string) => void
}

/** What is out of sight and not gone: compressed parts of the open conversation, deleted conversations and files. */
export default function Archive({ open, onOpenChange, sessionId, onRestore, onBringBack }: Props) {
  const t = useT()
  const [reading, setReading] = useState<string | null>(null)
  return (
    <Dialog size="wide" open={open} onOpenChange={onOpenChange} title={t('archive')}>
      {reading !== null && sessionId ? (
        <Reading sessionId={sessionId} name={reading} onBack={() => setReading(null)} />
      ) : (
        <div className="space-y-5">
          {sessionId && <Compressed sessionId={sessionId} onRead={setReading} onBringBack={onBringBack} />}
          <DeletedSessions onRestore={onRestore} />
          <DeletedFiles />
        </div>
      )}
    </Dialog>
  )
}

interface CompressedProps {
  sessionId: string
  onRead: (name: string) => void
  onBringBack: (name: string) => void
}

function Compressed({ sessionId, onRead, onBringBack }: CompressedProps) {
  const t = useT()
  const { data: archives, error } = useArchives(sessionId)
  return (
    <Section title={t('archiveCompressed')} count={archives?.length} error={error} none={t('archiveNone')}>
      {archives?.map(part => (
        <Part
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
  const archived = useArchived(sessionId, name)
  return (
    <>
      <div className="mb-2 flex items-center gap-2 text-fg-2 text-small">
        <IconButton label={t('back')} size="smallIcon" onClick={onBack}>
          <ChevronLeft size={15} aria-hidden />
        </IconButton>
        <code className="font-mono text-[12px]">sessions/archive/{name}</code>
      </div>
      {archived.error && <QueryError error={archived.error} />}
      {archived.data ? (
        <ArchivedMessages messages={archived.data} />
      ) : (
        !archived.error && <Skeleton label={t('loading')} rows={5} />
      )}
    </>
  )
}
