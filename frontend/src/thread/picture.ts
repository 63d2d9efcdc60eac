import type { Picture } from './model'

/** What the server says of a picture that it keeps with a session. */
export interface PictureRecord {
  media_type: string
  /** SHA-256 of its bytes in hexadecimal. */
  hash: string
  bytes: number
  width: number
  height: number
}

/** A picture that is kept with a session; only its address loads it. */
export function keptPicture(of: PictureRecord, sessionId: string): Picture {
  const { media_type, hash, bytes, width, height } = of
  const url = `/api/sessions/${encodeURIComponent(sessionId)}/pictures/${encodeURIComponent(hash)}`
  return { type: media_type, kept: { hash, url }, bytes, width, height }
}
