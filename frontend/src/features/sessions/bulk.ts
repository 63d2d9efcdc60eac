/** Actions on several conversations at once, with one undo. */
import * as api from '@/api/endpoints'
import { keys, patchList, refresh } from '@/api/queries'
import type { SessionSummary } from '@/api/types'
import { drop } from '@/app/threads'
import { type Key, t } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'
import { toast } from '@/stores/toasts'
import { saveExport } from './transfer'

type Ids = readonly string[]

/**
 * Runs an action on one id after the other; returns the ids that succeeded. Failures are reported once, with the
 * first reason.
 */
async function each(ids: Ids, run: (id: string) => Promise<unknown>): Promise<string[]> {
  const done: string[] = []
  const reasons: string[] = []
  for (const id of ids) {
    try {
      await run(id)
      done.push(id)
    } catch (error) {
      reasons.push(reasonOf(error))
    }
  }
  const [reason] = reasons
  if (reason !== undefined) toast(t('notDone', { reason }), { tone: 'bad' })
  return done
}

function tell(done: Ids, words: Key, undo?: (ids: Ids) => void): void {
  if (done.length === 0) return
  const action = undo && { label: t('undo'), run: () => undo(done) }
  toast(t(words, { n: done.length }), action ? { action } : {})
}

/** Returns the ids of the deleted sessions. */
export async function removeAll(sessions: readonly SessionSummary[]): Promise<string[]> {
  const ids = sessions.map(session => session.id)
  const done = await each(ids, async id => {
    await api.deleteSession(id)
    drop(id)
  })
  tell(done, 'deletedMany', gone => void restoreAll(gone))
  refresh(keys.sessions)
  return done
}

async function restoreAll(ids: Ids): Promise<void> {
  tell(await each(ids, api.restoreSession), 'restoredMany')
  refresh(keys.sessions)
  refresh(keys.deleted)
}

export async function archiveAll(ids: Ids, archived: boolean): Promise<void> {
  const run = archived ? api.archiveSession : api.unarchiveSession
  const done = await each(ids, async id => patchList(await run(id)))
  tell(done, archived ? 'archivedMany' : 'unarchivedMany', moved => void archiveAll(moved, !archived))
}

/** Saves each session as a JSON file. */
export async function exportAll(ids: Ids): Promise<void> {
  await each(ids, id => saveExport(id, 'json'))
}
