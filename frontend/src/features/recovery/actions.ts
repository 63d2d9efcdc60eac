/** Actions on deleted items. */
import { forgetFile, forgetSession } from '@/api/endpoints'
import { keys, refresh } from '@/api/queries'
import type { TrashedText } from '@/api/types'
import { bringBack } from '@/features/editor/actions'
import { t } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'
import { FileRef } from '@/lib/roots'
import { toast } from '@/stores/toasts'

async function forget(what: string, run: () => Promise<unknown>): Promise<void> {
  try {
    await run()
    toast(t('forgotten', { title: what }))
  } catch (error) {
    toast(t('notDone', { reason: reasonOf(error) }), { tone: 'bad' })
  }
  refresh(keys.deleted)
  refresh(keys.trash)
}

export const forgetSessionOf = (id: string, title: string): Promise<void> =>
  forget(title, () => forgetSession(id))

export const forgetFileOf = ({ trash, path }: TrashedText): Promise<void> =>
  forget(path, () => forgetFile(trash))

export async function bringFileBack({ path, trash }: TrashedText): Promise<void> {
  const file = FileRef.parse(path)
  if (file) await bringBack(file, trash, false)
  refresh(keys.trash)
}
