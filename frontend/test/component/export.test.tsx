import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { isSignedOut, signedIn } from '@/api/signedOut'
import { exportAll } from '@/features/sessions/bulk'
import { exportOne } from '@/features/sessions/transfer'
import { fileNameIn } from '@/lib/download'
import { t } from '@/lib/i18n'
import { useToasts } from '@/stores/toasts'
import { type Asked, serve } from '../fetch'

/** The saved files: their names and contents. */
let saved: [name: string, text: Promise<string>][]
const told = () => useToasts.getState().list.map(({ text }) => text)

beforeEach(() => {
  saved = []
  useToasts.setState({ list: [] })
  let content = new Blob()
  vi.spyOn(URL, 'createObjectURL').mockImplementation(blob => {
    content = blob as Blob
    return 'blob:export'
  })
  vi.spyOn(HTMLAnchorElement.prototype, 'click').mockImplementation(function (this: HTMLAnchorElement) {
    saved.push([this.download, content.text()])
  })
})
afterEach(() => {
  signedIn()
  vi.unstubAllGlobals()
})

const exported = ({ path }: Asked) =>
  new Response(`export of ${path}`, { headers: { 'Content-Disposition': 'attachment; filename="s-1.md"' } })
const refusal = (status: number, code: string) => serve(() => [status, { code, message: 'why not' }])

it('a conversation is saved under the name that the server gives it', async () => {
  serve(exported)
  await exportOne('s 1', 'md')
  expect(saved.map(([name]) => name)).toEqual(['s-1.md'])
  expect(await saved[0]?.[1]).toBe('export of /api/sessions/s%201/export?format=md')
  expect(told()).toEqual([])
})

it('a name with a folder, or none, is not taken from the server', () => {
  expect(fileNameIn('attachment; filename="a b.json"')).toBe('a b.json')
  for (const header of [null, 'attachment', 'attachment; filename="../a"', 'attachment; filename="a\\b"'])
    expect(fileNameIn(header)).toBeNull()
})

it('an export after the session has ended shows the sign-in', async () => {
  refusal(401, 'signed_out')
  await exportOne('s1', 'json')
  expect(isSignedOut()).toBe(true)
  expect(saved).toEqual([])
})

it.each([404, 500])('an export that is refused with %d says why, and saves nothing', async status => {
  refusal(status, 'no_such_code')
  await exportOne('s1', 'json')
  expect(told()).toEqual([t('notDone', { reason: 'why not' })])
  expect([saved, isSignedOut()]).toEqual([[], false])
})

it('several conversations are saved one after the other, and failures are reported once', async () => {
  serve(asked => (asked.path.includes('/good') ? exported(asked) : [404, { code: 'x', message: 'why not' }]))
  await exportAll(['bad1', 'good1', 'bad2', 'good2'])
  expect(saved).toHaveLength(2)
  expect(told()).toEqual([t('notDone', { reason: 'why not' })])
})
