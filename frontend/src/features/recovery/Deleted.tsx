import { useDeleted, useTrash } from '@/api/queries'
import type { DeletedSession } from '@/api/types'
import { moment } from '@/lib/format'
import { locale, useLang, useT } from '@/lib/i18n'
import { bringFileBack, forgetFileOf, forgetSessionOf } from './actions'
import { DeletedRow } from './DeletedRow'
import { Section } from './Section'

export function DeletedSessions({ onRestore }: { onRestore: (session: DeletedSession) => void }) {
  const t = useT()
  const lang = useLang()
  const { data: deleted, error } = useDeleted()
  return (
    <Section
      title={t('deletedSessions')}
      count={deleted?.length}
      error={error}
      none={t('noDeletedSessions')}
      kept={t('deletedSessionsKept')}
    >
      {deleted?.map(session => {
        const title = session.title || t('untitled')
        return (
          <DeletedRow
            key={session.id}
            title={title}
            when={t('lastUsed', { at: moment(session.updated_at, locale(lang)) })}
            onBringBack={() => onRestore(session)}
            onForget={() => void forgetSessionOf(session.id, title)}
          />
        )
      })}
    </Section>
  )
}

export function DeletedFiles() {
  const t = useT()
  const lang = useLang()
  const { data: trash, error } = useTrash()
  return (
    <Section
      title={t('deletedFiles')}
      count={trash?.files.length}
      error={error}
      none={t('noDeletedFiles')}
      kept={trash && t('deletedFilesKept', { n: trash.kept })}
    >
      {trash?.files.map(file => (
        <DeletedRow
          key={file.trash}
          title={file.path}
          when={t('deletedAt', { at: moment(file.deleted_at, locale(lang)) })}
          onBringBack={() => void bringFileBack(file)}
          onForget={() => void forgetFileOf(file)}
        />
      ))}
    </Section>
  )
}
