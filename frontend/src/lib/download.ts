/** Files that the page saves on the person's computer. */

/** The file name in a `Content-Disposition` header; null if it has none. */
export const fileNameIn = (header: string | null): string | null =>
  /\bfilename="([^"/\\]+)"/i.exec(header ?? '')?.[1] ?? null

/** Milliseconds. Some browsers read the content only after the click that starts the download. */
const KEPT_MS = 60_000

export function download(name: string, content: Blob): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(content)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), KEPT_MS)
}
