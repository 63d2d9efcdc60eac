import { ArchiveRestore, ChevronLeft } from 'lucide-react'
import { useState } from 'react'
import { useArchived, useArchives, useDeleted } from '@/api/queries'
import type { DeletedSession } from '@/api/types'
import { Button, IconButton } from '@/components/ui/Button'
import { Dialog } from '@/components/ui/Dialog'
import { Skeleton } from '@/components/ui/Skeleton'
import { moment } from '@/lib/format'
import { locale, useLang, useT } from '@/lib/i18n'
import { ArchivedMessages } from './ArchivedMessages'
import { Part } from './Part'

interface Props {
  open: boolean
  onOpenChange: (open: boolean) => void
  /** The session whose archives are shown beside the deleted sessions; null where none is open. */
  sessionId: string | null
  onRestore: (session: DeletedSession) => void
  /** Puts the messages of an archive back into the open conversation. */
  onBringBack: (name: string) => void
}

/** What is out of sight and not gone: compressed parts of the open conversation, and deleted conversations. */
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
          <Deleted onRestore={onRestore} />
        </div>
      )}
    </Dialog>
  )
}

const HEAD = 'mb-1 font-semibold text-[13.5px]'
const ROW = 'flex items-center gap-2 rounded-md border px-2.5 py-1.5 text-[13px]'

interface CompressedProps {
  sessionId: string
  onRead: (name: string) => void
  onBringBack: (name: string) => void
}

function Compressed({ sessionId, onRead, onBringBack }: CompressedProps) {
  const t = useT()
  const archives = useArchives(sessionId).data
  return (
    <section aria-labelledby="archive-compressed">
      <h3 id="archive-compressed" className={HEAD}>
        {t('archiveCompressed')}
      </h3>
      {!archives && <Skeleton label={t('loading')} rows={2} />}
      {archives?.length === 0 && <p className="text-fg-3 text-small">{t('archiveNone')}</p>}
      <ul className="space-y-1.5">
        {archives?.map(part => (
          <Part
            key={part.name}
            part={part}
            onRead={() => onRead(part.name)}
            onBringBack={() => onBringBack(part.name)}
          />
        ))}
      </ul>
    </section>
  )
}

function Deleted({ onRestore }: { onRestore: (session: DeletedSession) => void }) {
  const t = useT()
  const lang = useLang()
  const deleted = useDeleted().data
  return (
    <section aria-labelledby="archive-deleted">
      <h3 id="archive-deleted" className={HEAD}>
        {t('archiveDeleted')}
      </h3>
      {!deleted && <Skeleton label={t('loading')} rows={3} />}
      {deleted?.length === 0 && <p className="text-fg-3 text-small">{t('archiveNoDeleted')}</p>}
      <ul className="space-y-1.5">
        {deleted?.map(session => (
          <li key={session.id} className={ROW}>
            <span className="min-w-0 flex-1 truncate">{session.title || t('untitled')}</span>
            <span className="shrink-0 text-fg-3 text-meta tabular-nums">
              {moment(session.updated_at, locale(lang))}
            </span>
            <Button size="small" onClick={() => onRestore(session)}>
              <ArchiveRestore size={13} aria-hidden />
              {t('bringBack')}
            </Button>
          </li>
        ))}
      </ul>
    </section>
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
      {archived.error && (
        <p className="text-bad text-small">{t('loadFailed', { reason: archived.error.message })}</p>
      )}
      {archived.data ? (
        <ArchivedMessages messages={archived.data} />
      ) : (
        !archived.error && <Skeleton label={t('loading')} rows={5} />
      )}
    </>
  )
}
