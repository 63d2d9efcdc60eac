import type { Attachment } from '@/thread/model'

/** The server's limits for the attachments of one message, in bytes except `MOST_FILES`. */
export const MOST_FILES = 10
export const MOST_BYTES = 256 * 1024
export const MOST_TOGETHER = 1024 * 1024
export const MOST_PICTURES = 6 * 1024 * 1024
export const MOST_DOCUMENT = 10 * 1024 * 1024

/** Characters and lines from which a pasted text is easier to handle as a file. */
const LONG = 8000
const MANY_LINES = 100

export const bytesOf = (text: string): number => new TextEncoder().encode(text).length

/** Whether a pasted text becomes a file. A text that cannot be attached stays a text. */
export const isBigPaste = (text: string): boolean =>
  (text.length > LONG || text.split('\n', MANY_LINES + 2).length > MANY_LINES) &&
  bytesOf(text) <= MOST_BYTES &&
  !text.includes('\0')

type Attached = Pick<Attachment, 'content' | 'picture'>

export const textBytes = (files: readonly Attached[]): number =>
  files.reduce((sum, file) => (file.picture ? sum : sum + bytesOf(file.content)), 0)

export const pictureBytes = (files: readonly Attached[]): number =>
  files.reduce((sum, file) => sum + (file.picture?.bytes ?? 0), 0)

/** Whether a text can be attached in addition to these files. */
export const fits = (files: readonly Attached[], text: string): boolean =>
  files.length < MOST_FILES && textBytes(files) + bytesOf(text) <= MOST_TOGETHER

/**
 * Tokens of the next request with these files, if the model cannot read that many; else null. `window` is 0 if
 * unknown.
 */
export function overflow(files: readonly { tokens: number | null }[], used: number, window: number) {
  const tokens = files.reduce((sum, file) => sum + (file.tokens ?? 0), used)
  return window > 0 && tokens > window ? { tokens, window } : null
}

/** Scales a size down to at most `longest` on the longer side, with the same aspect ratio. */
export function within(width: number, height: number, longest: number): { width: number; height: number } {
  const by = Math.min(1, longest / Math.max(width, height))
  return { width: Math.max(1, Math.round(width * by)), height: Math.max(1, Math.round(height * by)) }
}
