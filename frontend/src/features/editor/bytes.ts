/** The bytes of a file of a project, whatever they are. */
import { bytesAddress } from '@/api/projects'
import type { FileRef } from '@/lib/roots'

export { bytesAddress }

export const nameOf = ({ path }: FileRef): string => path.slice(path.lastIndexOf('/') + 1)

/** Lets the browser save a file on the person's computer, as it arrives. */
export function downloadBytes(file: FileRef): void {
  const link = document.createElement('a')
  link.href = bytesAddress(file)
  link.download = nameOf(file)
  link.click()
}
