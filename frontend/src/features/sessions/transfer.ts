/** Export and import of conversations as files. */
import { importSession } from '@/api/endpoints'
import { keys, refresh } from '@/api/queries'
import { t } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'
import { toast } from '@/stores/toasts'

export function exportSession(id: string, format: 'md' | 'json'): void {
  const link = document.createElement('a')
  link.href = `/api/sessions/${encodeURIComponent(id)}/export?format=${format}`
  link.download = ''
  link.click()
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
