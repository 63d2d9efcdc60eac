/**
 * Files attached to the next message of a conversation. They survive a reload if the browser's storage has room for
 * them.
 */
import { create } from 'zustand'
import { store, stored } from '@/lib/storage'
import type { Attachment } from '@/thread/model'

export interface DraftFile extends Attachment {
  id: string
  /** Null until counted. */
  tokens: number | null
  /** A long pasted text, which can become text again. */
  pasted: boolean
}

interface Attachments {
  files: Record<string, readonly DraftFile[]>
  /** Conversations whose files do not fit into the browser's storage. */
  unkept: Record<string, boolean>
}

const key = (session: string) => `files.${session}`

export const useAttachments = create<Attachments>(() => ({ files: {}, unkept: {} }))

/** Files that earlier loads of the page stored, read once. */
const found = new Map<string, readonly DraftFile[]>()

const isFile = (value: unknown): value is DraftFile => {
  const file = value as Partial<DraftFile> | null
  return [file?.id, file?.name, file?.extension, file?.content].every(field => typeof field === 'string')
}

function parse(text: string | null): readonly DraftFile[] {
  try {
    const files: unknown = JSON.parse(text ?? '[]')
    return Array.isArray(files) ? files.filter(isFile) : []
  } catch {
    return []
  }
}

function fromStorage(session: string): readonly DraftFile[] {
  const known = found.get(session)
  if (known) return known
  const files = parse(stored(key(session)))
  found.set(session, files)
  return files
}

export const draftFiles = (session: string): readonly DraftFile[] =>
  useAttachments.getState().files[session] ?? fromStorage(session)

export const useDraftFiles = (session: string): readonly DraftFile[] =>
  useAttachments(s => s.files[session]) ?? fromStorage(session)

export function setDraftFiles(session: string, files: readonly DraftFile[]): void {
  const kept = store(key(session), files.length === 0 ? null : JSON.stringify(files))
  // A part of the list would be worse than nothing.
  if (!kept) store(key(session), null)
  useAttachments.setState(s => ({
    files: { ...s.files, [session]: files },
    unkept: { ...s.unkept, [session]: !kept },
  }))
}
