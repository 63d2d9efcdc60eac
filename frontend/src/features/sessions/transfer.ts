/** Export and import of conversations as files. */
import { exportSession, importSession } from '@/api/endpoints'
import { keys, refresh } from '@/api/queries'
import { download } from '@/lib/download'
import { t } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'
import { toast } from '@/stores/toasts'

type Format = 'md' | 'json'

/** Reads a conversation and saves it as a file. Read like everything else, so that a refusal is explained here. */
export async function saveExport(id: string, format: Format): Promise<void> {
  const { name, content } = await exportSession(id, format)
  download(name, content)
}

/** The same for a single conversation: a failure is reported. */
export async function exportOne(id: string, format: Format): Promise<void> {
  try {
    await saveExport(id, format)
  } catch (error) {
    toast(t('notDone', { reason: reasonOf(error) }), { tone: 'bad' })
  }
}

/** Returns the new session's id; null if the file is not a conversation. */
export async function importFile(file: File): Promise<string | null> {
  try {
    const parsed: unknown = JSON.parse(await file.text())
    const session = await importSession(parsed)
    refresh(keys.sessions)
    toast(t('imported', { title: session.title || t('untitled') }))
    return session.id
  } catch (error) {
    toast(t('notImported', { name: file.name, reason: reasonOf(error) }), {
      tone: 'bad',
    })
    return null
  }
}
