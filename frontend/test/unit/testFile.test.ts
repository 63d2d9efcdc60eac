import { expect, it } from 'vitest'
import type { Hit } from '@/api/types'
import { addTest, appended, testLine } from '@/features/playground/testFile'
import { t } from '@/lib/i18n'
import { serve } from '../fetch'

const found: Hit = {
  text: 'Put it into .env.',
  score: 1,
  source: 'knowledge/setup/keys.md',
  heading: 'Setup › Keys',
  lines: [3, 5],
}
const LINE = '{"query":"Where?","file":"setup/keys.md","heading":"Keys"}'

/** A files API with one file; `interfere` writes to it before the first save arrives. */
function disk(content: string | null, interfere?: string) {
  let now = content
  let meddling = interfere
  serve(({ method, headers, body }) => {
    if (method === 'GET') {
      return now === null
        ? [404, { code: 'not_found', message: 'no' }]
        : [200, { path: 'knowledge/tests.jsonl', content: now, etag: `v${now.length}` }]
    }
    if (meddling !== undefined) {
      now = meddling
      meddling = undefined
    }
    const fits =
      now === null ? headers.get('If-None-Match') === '*' : headers.get('If-Match') === `"v${now.length}"`
    if (!fits) return [412, { code: 'changed_on_disk', message: 'changed' }]
    now = (body as { content: string }).content
    return [200, { path: '', etag: 'new' }]
  })
  return () => now
}

it('a test names the question, the file below its folder, and the last heading', () => {
  expect(testLine('Where?', found)).toBe(LINE)
  expect(testLine('Where?', { source: 'memory/MEMORY.md' })).toBe('{"query":"Where?","file":"MEMORY.md"}')
})

it('a test is a line of its own, also after a line without an end', () => {
  expect(appended('', LINE)).toEqual({ content: `${LINE}\n`, line: 1 })
  expect(appended('a\nb', LINE)).toEqual({ content: `a\nb\n${LINE}\n`, line: 3 })
  expect(appended('a\nb\n', LINE)).toEqual({ content: `a\nb\n${LINE}\n`, line: 3 })
})

it('the file is created if it is missing', async () => {
  const read = disk(null)
  expect(await addTest('knowledge', 'Where?', found)).toEqual({ kind: 'added', line: 1 })
  expect(read()).toBe(`${LINE}\n`)
})

it('a concurrent write is kept', async () => {
  const read = disk('{"query":"a"}\n', '{"query":"a"}\n{"query":"b"}\n')
  expect(await addTest('knowledge', 'Where?', found)).toEqual({ kind: 'added', line: 3 })
  expect(read()).toBe(`{"query":"a"}\n{"query":"b"}\n${LINE}\n`)
})

it('nothing is added twice', async () => {
  const read = disk(`{"query":"a"}\n${LINE}\n`)
  expect(await addTest('knowledge', 'Where?', found)).toEqual({ kind: 'known', line: 2 })
  expect(read()).toBe(`{"query":"a"}\n${LINE}\n`)
})

it('a failure is explained by the code of the response', async () => {
  serve(() => [507, { code: 'disk_full', message: 'ENOSPC' }])
  expect(await addTest('knowledge', 'Where?', found)).toEqual({ kind: 'failed', reason: t('diskFull') })
})
