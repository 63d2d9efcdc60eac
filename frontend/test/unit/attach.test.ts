import { beforeEach, expect, it, vi } from 'vitest'
import * as api from '@/api/endpoints'
import { send } from '@/app/threads'
import { fits, isBigPaste, MOST_BYTES, MOST_FILES, MOST_TOGETHER, overflow } from '@/features/attach/limits'
import { attach, attachPasted, takeOne } from '@/features/attach/take'
import { draftFiles, setDraftFiles, useAttachments } from '@/stores/attachments'
import { useToasts } from '@/stores/toasts'
import { advance, attachmentsOf } from '@/thread/advance'
import { fromHistory } from '@/thread/history'
import { emptyThread } from '@/thread/model'

const file = (name: string, content: BlobPart, type = '') => new File([content], name, { type })
const reason = async (given: File, room = MOST_BYTES) => {
  const taken = await takeOne(given, room)
  return taken.kind === 'refused' ? [taken.reason, taken.forKnowledge] : taken.content
}
const names = () => draftFiles('s').map(({ name }) => name)

beforeEach(() => {
  vi.restoreAllMocks()
  vi.spyOn(api, 'countAttachment').mockImplementation(async ({ name, content }) => ({
    name,
    extension: 'txt',
    bytes: content.length,
    tokens: 7,
  }))
  setDraftFiles('s', [])
  useToasts.setState({ list: [] })
})

it('only texts are accepted, and refused files say what to do', async () => {
  expect(await reason(file('a.py', 'x = 1'))).toBe('x = 1')
  expect(await reason(file('a.svg', '<svg/>', 'image/svg+xml'))).toBe('<svg/>')
  expect(await reason(file('a.exe', new Uint8Array([0x25, 0xff, 0xfe])))).toEqual([
    expect.stringContaining('Unsupported file type'),
    false,
  ])
  expect(await reason(file('a.bin', 'a\0b'))).toEqual([
    expect.stringContaining('Unsupported file type'),
    false,
  ])
  expect(await reason(file('a.log', 'x'.repeat(MOST_BYTES + 1)))).toEqual([
    expect.stringContaining('256 KB'),
    true,
  ])
  expect(await reason(file('a.log', 'xxx'), 2)).toEqual([expect.stringContaining('total'), true])
})

it('files are counted, and those above the limit are named with advice', async () => {
  const many = Array.from({ length: MOST_FILES + 1 }, (_, n) => file(`${n}.txt`, 'x'))
  await attach('s', many)
  expect(names()).toHaveLength(MOST_FILES)
  await vi.waitFor(() => expect(draftFiles('s').every(({ tokens }) => tokens === 7)).toBe(true))
  const [told] = useToasts.getState().list
  expect(told?.text).toContain('10.txt')
  expect(told?.action).toBeUndefined()
  await attach('other', [file('large.md', 'x'.repeat(MOST_BYTES + 1))])
  expect(useToasts.getState().list.at(-1)?.action?.label).toBe('Add to Knowledge')
})

it('a long paste becomes a file with a name of its own', () => {
  expect(isBigPaste('x'.repeat(8001))).toBe(true)
  expect(isBigPaste('x\n'.repeat(101))).toBe(true)
  expect(isBigPaste('x\n'.repeat(99))).toBe(false)
  expect(isBigPaste('企'.repeat(MOST_BYTES / 2))).toBe(false)
  const full = Array.from({ length: MOST_FILES }, () => ({ content: '' }))
  expect([fits(full, 'x'), fits(full.slice(1), 'x')]).toEqual([false, true])
  const heavy = [{ content: 'x'.repeat(1024 * 1024) }]
  expect(fits(heavy, 'x')).toBe(false)
  attachPasted('s', 'one')
  attachPasted('s', 'two')
  expect(names()).toEqual(['pasted text.txt', 'pasted text 2.txt'])
  expect(draftFiles('s').every(({ pasted }) => pasted)).toBe(true)
})

it('files above the context limit are reported if the limit is known', () => {
  const files = [{ tokens: 60 }, { tokens: null }, { tokens: 30 }]
  expect(overflow(files, 11, 100)).toEqual({ tokens: 101, window: 100 })
  expect(overflow(files, 10, 100)).toBeNull()
  expect(overflow(files, 500, 0)).toBeNull()
})

it('files survive a reload, and a lack of storage is reported', () => {
  attachPasted('s', 'kept')
  expect(JSON.parse(localStorage.getItem('mc:owner:files.s') ?? '')).toHaveLength(1)
  expect(useAttachments.getState().unkept.s).toBe(false)
  const there = localStorage
  const full = () => {
    throw new DOMException('full', 'QuotaExceededError')
  }
  vi.stubGlobal('localStorage', { setItem: full, removeItem: (key: string) => there.removeItem(key) })
  attachPasted('s', 'too large')
  expect(useAttachments.getState().unkept.s).toBe(true)
  vi.unstubAllGlobals()
  expect(localStorage.getItem('mc:owner:files.s')).toBeNull()
  expect(names()).toHaveLength(2)
})

it('stored files are read, and invalid entries are ignored', () => {
  const one = { id: '1', name: 'a.md', extension: 'md', content: 'x', tokens: 3, pasted: false }
  localStorage.setItem('mc:owner:files.left', JSON.stringify([one, { name: 'half' }, null]))
  localStorage.setItem('mc:owner:files.broken', '{')
  expect(draftFiles('left')).toEqual([one])
  expect(draftFiles('left')).toBe(draftFiles('left'))
  expect(draftFiles('broken')).toEqual([])
})

it('a live frame and a history show the same files', () => {
  const attachments = [{ name: 'a.md', extension: 'md', content: 'x', more: 1 }]
  const live = advance(emptyThread('s'), {
    type: 'user_message',
    work_id: 'w',
    message_id: 'm',
    content: '',
    attachments,
  })
  const loaded = fromHistory({
    session_id: 's',
    title: '',
    last_event_id: '1.1',
    running: null,
    messages: [{ role: 'user', id: 'm', work_id: 'w', content: '', attachments }],
  })
  expect(live.entries[0]).toEqual(loaded.entries[0])
  expect(live.entries[0]).toMatchObject({ attachments: [{ name: 'a.md', extension: 'md', content: 'x' }] })
  expect(attachmentsOf({}, 's')).toEqual([])
})

const head = { media_type: 'image/png', hash: 'ab', bytes: 9, width: 3, height: 2 } as const

it('a sent picture loads from its session, and is sent again by its hash alone', async () => {
  const [seen] = attachmentsOf({ attachments: [{ name: 'a.png', extension: 'png', picture: head }] }, 'a b')
  expect(seen?.picture).toMatchObject({
    kept: { hash: 'ab', url: '/api/sessions/a%20b/pictures/ab' },
    width: 3,
  })
  vi.spyOn(api, 'getHistory').mockReturnValue(new Promise(() => {}))
  const sent = vi
    .spyOn(api, 'sendMessage')
    .mockResolvedValue({ session_id: 's', work_id: 'w', after: '', state: 'started' })
  const drawn = { type: 'image/png', kept: null, bytes: 9, width: 3, height: 2 }
  const draft = { name: 'b.png', extension: 'png', content: 'AAAA', picture: drawn }
  send('s', {
    content: 'look',
    attachments: [...(seen ? [seen] : []), draft, { name: 'c.md', extension: 'md', content: 'x' }],
  })
  await vi.waitFor(() => expect(sent).toHaveBeenCalled())
  expect(sent.mock.calls[0]?.[1].attachments).toEqual([
    { name: 'a.png', content: 'ab', encoding: 'kept' },
    { name: 'b.png', content: 'AAAA', encoding: 'base64' },
    { name: 'c.md', extension: 'md', content: 'x' },
  ])
})

it('texts and pictures have separate limits', () => {
  const drawn = { type: 'image/png', kept: null, bytes: MOST_TOGETHER, width: 3, height: 2 }
  const picture = { content: 'A'.repeat(MOST_TOGETHER), picture: drawn }
  expect(fits([picture], 'x'.repeat(MOST_TOGETHER))).toBe(true)
  expect(fits([picture, { content: 'y' }], 'x'.repeat(MOST_TOGETHER))).toBe(false)
})

it('a picture that the browser cannot decode is named with advice', async () => {
  vi.stubGlobal('createImageBitmap', () => Promise.reject(new Error('no picture')))
  await attach('s', [file('a.tiff', 'x', 'image/tiff')])
  expect(names()).toEqual([])
  expect(useToasts.getState().list[0]?.text).toContain('a.tiff: Can’t read this image')
  vi.unstubAllGlobals()
})

it('the text of a document is attached, and said to be only that', async () => {
  vi.spyOn(api, 'countAttachment').mockImplementation(async ({ name, content, encoding }) => ({
    ...{ name, extension: 'pdf', tokens: 3, bytes: 13 },
    ...(encoding === 'document' && { text: `of ${atob(content)}` }),
  }))
  await attach('s', [file('birds.pdf', '%PDF', 'application/pdf')])
  expect(draftFiles('s')).toMatchObject([{ name: 'birds.pdf', content: 'of %PDF' }])
  expect(useToasts.getState().list.at(-1)?.text).toContain('The text of birds.pdf')
})

it('a document that has no text names the reason, and is not attached', async () => {
  vi.spyOn(api, 'countAttachment').mockRejectedValue(new Error('birds.pdf: Password-protected.'))
  await attach('s', [file('birds.pdf', '%PDF', 'application/pdf')])
  expect(names()).toEqual([])
  expect(useToasts.getState().list.at(-1)?.text).toContain('Password-protected.')
})
