import { FileRef } from '@/lib/roots'

/** The file of that name, which must be in one of the roots. */
export function file(name: string): FileRef {
  const found = FileRef.parse(name)
  if (!found) throw new Error(`${name} is in no root`)
  return found
}
