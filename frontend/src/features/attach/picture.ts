/**
 * Prepares pictures for sending: scales them to the size that models read, and removes the camera's metadata. The
 * browser does this, so that the server never decodes a picture.
 */

import { within } from './limits'

/** Maximum pixels of the longer side; models read no more. */
const LONGEST = 1568
/** Maximum bytes of a picture that is sent. */
const MOST = 1024 * 1024
/** Maximum bytes of a source file; larger files are rejected unread. */
export const MOST_SOURCE = 50 * 1024 * 1024

export interface Shrunk {
  type: string
  base64: string
  bytes: number
  width: number
  height: number
}

/** Types that may be sent unchanged. A photo may contain its location, so it is always drawn again. */
const AS_IT_IS = ['image/png', 'image/webp', 'image/gif']

/** Returns null if the browser cannot read it as a picture, or if it stays too large. */
export async function shrink(file: File): Promise<Shrunk | null> {
  let bitmap: ImageBitmap
  try {
    bitmap = await createImageBitmap(file)
  } catch {
    return null
  }
  const { width, height } = bitmap
  try {
    if (AS_IT_IS.includes(file.type) && file.size <= MOST && Math.max(width, height) <= LONGEST)
      return { type: file.type, base64: await base64Of(file), bytes: file.size, width, height }
    return await drawn(bitmap, file.type === 'image/jpeg')
  } finally {
    bitmap.close()
  }
}

/** Draws as PNG, which keeps text sharp; if that is too large, and for photos, as JPEG on white. */
async function drawn(bitmap: ImageBitmap, photo: boolean): Promise<Shrunk | null> {
  for (const longest of [LONGEST, LONGEST / 2]) {
    const size = within(bitmap.width, bitmap.height, longest)
    const canvas = Object.assign(document.createElement('canvas'), size)
    const context = canvas.getContext('2d')
    if (!context) return null
    const tries: [string, number][] = [
      ['image/jpeg', 0.9],
      ['image/jpeg', 0.75],
    ]
    if (!photo) tries.unshift(['image/png', 1])
    for (const [type, quality] of tries) {
      context.fillStyle = '#fff'
      if (type === 'image/jpeg') context.fillRect(0, 0, size.width, size.height)
      context.drawImage(bitmap, 0, 0, size.width, size.height)
      const blob = await new Promise<Blob | null>(done => canvas.toBlob(done, type, quality))
      if (blob && blob.type === type && blob.size <= MOST)
        return { type, base64: await base64Of(blob), bytes: blob.size, ...size }
    }
  }
  return null
}

export const base64Of = (blob: Blob): Promise<string> =>
  new Promise((done, failed) => {
    const reader = new FileReader()
    reader.onload = () => done(String(reader.result).replace(/^[^,]*,/, ''))
    reader.onerror = () => failed(reader.error)
    reader.readAsDataURL(blob)
  })
