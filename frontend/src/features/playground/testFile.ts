/** Adds a case to a folder's retrieval tests. The file is a person's own, so nothing in it is overwritten. */
import { hasCode } from '@/api/client'
import { type FileContent, readFile, writeFile } from '@/api/endpoints'
import { keys, refresh, refreshFiles } from '@/api/queries'
import { testsOf } from '@/api/retrieval'
import type { Hit } from '@/api/types'
import { reasonOf } from '@/lib/reason'
import { FileRef, type SearchFolder } from '@/lib/roots'

export type Added =
  | { kind: 'added'; line: number }
  | { kind: 'known'; line: number }
  | { kind: 'failed'; reason: string }

/** A case as a line of JSON. It names the last heading, as a person would. */
export function testLine(query: string, hit: Pick<Hit, 'source' | 'heading'>): string {
  const heading = hit.heading?.split(' › ').at(-1)
  return JSON.stringify({
    query,
    file: FileRef.parse(hit.source)?.path ?? hit.source,
    ...(heading ? { heading } : {}),
  })
}

export function appended(content: string, line: string): { content: string; line: number } {
  const before = content === '' || content.endsWith('\n') ? content : `${content}\n`
  return { content: `${before}${line}\n`, line: before.split('\n').length }
}

async function readOrNothing(path: string): Promise<FileContent | null> {
  try {
    return await readFile(path)
  } catch (error) {
    if (hasCode(error, 'not_found')) return null
    throw error
  }
}

/** Maximum attempts: if somebody else writes the file at the same moment, it is read again. */
const TRIES = 3

export async function addTest(folder: SearchFolder, query: string, hit: Hit): Promise<Added> {
  const path = `${testsOf(folder)}`
  const line = testLine(query, hit)
  for (let left = TRIES; ; left--) {
    try {
      const file = await readOrNothing(path)
      const known = file?.content.split('\n').indexOf(line) ?? -1
      if (known >= 0) return { kind: 'known', line: known + 1 }
      const next = appended(file?.content ?? '', line)
      await writeFile(path, next.content, file ? { match: file.etag } : 'absent')
      refresh(keys.tests(folder))
      refreshFiles(testsOf(folder))
      return { kind: 'added', line: next.line }
    } catch (error) {
      if (!hasCode(error, 'changed_on_disk') || left <= 1) return { kind: 'failed', reason: reasonOf(error) }
    }
  }
}
