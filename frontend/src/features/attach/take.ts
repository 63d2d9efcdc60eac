/**
 * Reads files into a message: texts, the text of documents, and pictures within the limits. A file that is refused
 * reports why and what to do.
 */
import * as api from '@/api/endpoints'
import { t } from '@/lib/i18n'
import { randomId } from '@/lib/ids'
import { reasonOf } from '@/lib/reason'
import { DEFAULT_SEARCH_FOLDER } from '@/lib/roots'
import { announce } from '@/stores/announcer'
import { type DraftFile, draftFiles, setDraftFiles } from '@/stores/attachments'
import { toast } from '@/stores/toasts'
import type { Picture } from '@/thread/model'
import {
  MOST_BYTES,
  MOST_DOCUMENT,
  MOST_FILES,
  MOST_PICTURES,
  MOST_TOGETHER,
  pictureBytes,
  textBytes,
} from './limits'
import { base64Of, MOST_SOURCE, shrink } from './picture'

export type Taken =
  | { kind: 'text'; content: string }
  | { kind: 'picture'; content: string; picture: Picture }
  | { kind: 'refused'; reason: string /** Knowledge can index it. */; forKnowledge: boolean }

const refused = (reason: string, forKnowledge = false): Taken => ({ kind: 'refused', reason, forKnowledge })

/** An SVG is a text. */
const isPicture = (file: File) => file.type.startsWith('image/') && file.type !== 'image/svg+xml'

/** Reads one picture of at most `room` bytes after it is scaled down. */
async function takePicture(file: File, room: number): Promise<Taken> {
  if (file.size > MOST_SOURCE) return refused(t('attachPictureLarge'))
  const shrunk = await shrink(file)
  if (!shrunk) return refused(t('attachNoPicture'))
  const { base64, ...told } = shrunk
  if (told.bytes > room) return refused(t('attachPictures', { n: MOST_PICTURES / 1024 / 1024 }))
  return { kind: 'picture', content: base64, picture: { ...told, kept: null } }
}

/** Reads one text file of at most `room` bytes. */
export async function takeOne(file: File, room: number): Promise<Taken> {
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

/** A document whose text the server can extract. An HTML page is a text. */
const isDocument = (file: File) => /\.(pdf|doc[xm]|odt|ppt[xm])$/i.test(file.name)

/** Extracts the text of a document, of at most `room` bytes. */
async function takeDocument(file: File, room: number): Promise<Taken> {
  if (file.size > MOST_DOCUMENT) return refused(t('attachDocumentLarge', { n: MOST_DOCUMENT / 1024 / 1024 }))
  try {
    const content = await base64Of(file)
    const { text, bytes } = await api.countAttachment({ name: file.name, content, encoding: 'document' })
    return bytes > room
      ? refused(t('attachTogether', { n: MOST_TOGETHER / 1024 / 1024 }))
      : { kind: 'text', content: text ?? '' }
  } catch (error) {
    return refused(reasonOf(error))
  }
}

const takeAny = (file: File, there: readonly DraftFile[]): Promise<Taken> =>
  isPicture(file)
    ? takePicture(file, MOST_PICTURES - pictureBytes(there))
    : (isDocument(file) ? takeDocument : takeOne)(file, MOST_TOGETHER - textBytes(there))

export async function attach(session: string, files: readonly File[]): Promise<void> {
  const reasons: string[] = []
  const large: File[] = []
  for (const file of files) {
    const there = draftFiles(session)
    const full = there.length >= MOST_FILES
    const taken = full ? refused(t('attachTooMany', { n: MOST_FILES })) : await takeAny(file, there)
    if (taken.kind === 'text') {
      add(session, { name: file.name, content: taken.content })
      if (isDocument(file)) toast(t('attachedText', { name: file.name }))
    } else if (taken.kind === 'picture') {
      const { content, picture } = taken
      add(session, { name: file.name, content, picture })
    } else {
      reasons.push(`${file.name}: ${taken.reason}`)
      if (taken.forKnowledge) large.push(file)
    }
  }
  if (reasons.length === 0) return
  const run = () =>
    void import('@/features/inspector/upload').then(({ upload }) => upload(DEFAULT_SEARCH_FOLDER, large))
  const action = { label: t('attachToKnowledge'), run }
  toast(reasons.join('\n'), large.length > 0 ? { tone: 'bad', action } : { tone: 'bad' })
}

/** Attaches a long pasted text as a file. */
export function attachPasted(session: string, text: string): void {
  const taken = new Set(draftFiles(session).map(file => file.name))
  let name = t('pastedName')
  for (let n = 2; taken.has(name); n += 1) name = t('pastedNameAgain', { n })
  add(session, { name, content: text, pasted: true })
}

type Added = Pick<DraftFile, 'name' | 'content' | 'picture'> & { pasted?: boolean }

function add(session: string, added: Added): void {
  const { name } = added
  const dot = name.lastIndexOf('.')
  const extension = dot > 0 ? name.slice(dot + 1) : ''
  const file: DraftFile = { pasted: false, ...added, id: randomId(), extension, tokens: null }
  setDraftFiles(session, [...draftFiles(session), file])
  announce(t('attachedNow', { name }))
  void count(session, file)
}

/** Asks the server for the file's tokens and final name. If that fails, sending reports the error. */
async function count(session: string, { id, name, content, picture }: DraftFile): Promise<void> {
  try {
    const { tokens, ...counted } = await api.countAttachment({
      name,
      content,
      encoding: picture ? 'base64' : 'text',
    })
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
