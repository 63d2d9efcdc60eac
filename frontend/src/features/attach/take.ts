/** Files on their way into a message: only texts, within the limits, and each one that cannot go says why and what to do. */
import * as api from '@/api/endpoints'
import { t } from '@/lib/i18n'
import { randomId } from '@/lib/ids'
import { announce } from '@/stores/announcer'
import { type DraftFile, draftFiles, setDraftFiles } from '@/stores/attachments'
import { toast } from '@/stores/toasts'
import { bytesOf, MOST_BYTES, MOST_FILES, MOST_TOGETHER } from './limits'

export type Taken =
  | { kind: 'text'; content: string }
  | { kind: 'refused'; reason: string /** It would be searched there. */; forKnowledge: boolean }

const refused = (reason: string, forKnowledge = false): Taken => ({ kind: 'refused', reason, forKnowledge })

/** Reads one file, `room` bytes at most. */
export async function takeOne(file: File, room: number): Promise<Taken> {
  if (file.type.startsWith('image/') && file.type !== 'image/svg+xml') return refused(t('attachImage'))
  if (file.size > MOST_BYTES) return refused(t('attachTooLarge', { n: MOST_BYTES / 1024 }), true)
  if (file.size > room) return refused(t('attachTogether', { n: MOST_TOGETHER / 1024 / 1024 }), true)
  let bytes: ArrayBuffer
  try {
    bytes = await file.arrayBuffer()
  } catch {
    return refused(t('uploadUnreadable'))
  }
  try {
    const content = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    return content.includes('\0') ? refused(t('attachNoText')) : { kind: 'text', content }
  } catch {
    return refused(t('attachNoText'))
  }
}

export async function attach(session: string, files: readonly File[]): Promise<void> {
  const reasons: string[] = []
  const large: File[] = []
  for (const file of files) {
    const there = draftFiles(session)
    const used = there.reduce((sum, other) => sum + bytesOf(other.content), 0)
    const taken =
      there.length >= MOST_FILES
        ? refused(t('attachTooMany', { n: MOST_FILES }))
        : await takeOne(file, MOST_TOGETHER - used)
    if (taken.kind === 'text') add(session, file.name, taken.content, false)
    else {
      reasons.push(`${file.name}: ${taken.reason}`)
      if (taken.forKnowledge) large.push(file)
    }
  }
  if (reasons.length === 0) return
  const run = () =>
    void import('@/features/inspector/upload').then(({ upload }) => upload('knowledge', large))
  const action = { label: t('attachToKnowledge'), run }
  toast(reasons.join('\n'), large.length > 0 ? { tone: 'bad', action } : { tone: 'bad' })
}

/** A long text that was pasted becomes a file. */
export function attachPasted(session: string, text: string): void {
  const taken = new Set(draftFiles(session).map(file => file.name))
  let name = t('pastedName')
  for (let n = 2; taken.has(name); n += 1) name = t('pastedNameAgain', { n })
  add(session, name, text, true)
}

function add(session: string, name: string, content: string, pasted: boolean): void {
  const dot = name.lastIndexOf('.')
  const extension = dot > 0 ? name.slice(dot + 1) : ''
  const file: DraftFile = { id: randomId(), name, extension, content, tokens: null, pasted }
  setDraftFiles(session, [...draftFiles(session), file])
  announce(t('attachedNow', { name }))
  void count(session, file)
}

/** What it costs, and what it will be called. Where the server cannot say, sending it will tell. */
async function count(session: string, { id, name, content }: DraftFile): Promise<void> {
  try {
    const { tokens, ...counted } = await api.countAttachment(name, content)
    const files = draftFiles(session)
    const told = { name: counted.name, extension: counted.extension, tokens }
    if (files.some(file => file.id === id)) {
      setDraftFiles(
        session,
        files.map(file => (file.id === id ? { ...file, ...told } : file)),
      )
    }
  } catch {
    // shown without a number
  }
}
