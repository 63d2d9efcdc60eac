import { createHash } from 'node:crypto'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { draw, LONGEST } from '@/diagram/draw'
import { documentWith, inScript } from '../../scripts/diagram.mjs'

vi.mock('virtual:diagram-document', () => ({ default: 'about:blank' }))

const frames = () => [...document.querySelectorAll('iframe')]
const say = (data: unknown, source: MessageEventSource | null | undefined) =>
  dispatchEvent(new MessageEvent('message', { data, source: source ?? null }))
const drawn = { kind: 'drawn', svg: '<svg/>', width: 1, height: 1 } as const

afterEach(() => {
  vi.useRealTimers()
  for (const frame of frames()) frame.remove()
})

describe('the document that draws', () => {
  it('runs its own script by its hash, and no other', () => {
    const page = documentWith('const end = "</script><!-- <script>"')
    const [, script = ''] = /<script>(.*?)<\/script>/s.exec(page) ?? []
    expect(script).toBe('const end = "\\x3c/script>\\x3c!-- <script>"')
    expect(new Function(`${script}; return end`)()).toBe('</script><!-- <script>')
    const hash = createHash('sha256').update(script).digest('base64')
    expect(page).toContain(`default-src 'none'; script-src 'sha256-${hash}';`)
    expect(page).not.toMatch(/connect-src|script-src[^;]*unsafe/)
    expect(inScript('a < b')).toBe('a < b')
  })
})

describe('a drawing', () => {
  const { signal } = new AbortController()

  it('is made in a frame without an origin, which is gone afterwards', async () => {
    const result = draw('graph TD', true, { signal })
    const [frame] = frames()
    expect(frame?.getAttribute('sandbox')).toBe('allow-scripts')
    const orders: unknown[] = []
    if (frame?.contentWindow) frame.contentWindow.postMessage = (order: unknown) => void orders.push(order)
    say(drawn, window)
    for (const wrong of ['what', null, { kind: 'drawn', svg: 1 }, { kind: 'failed' }, { kind: 'x' }])
      say(wrong, frame?.contentWindow)
    say({ kind: 'ready' }, frame?.contentWindow)
    expect(orders).toEqual([{ code: 'graph TD', dark: true, longest: LONGEST }])
    say(drawn, frame?.contentWindow)
    expect(await result).toEqual(drawn)
    expect(frames()).toEqual([])
  })

  it('is given up after ten seconds, or when nobody waits for it', async () => {
    vi.useFakeTimers()
    const slow = draw('graph TD', false, { signal })
    vi.advanceTimersByTime(9_999)
    expect(frames()).toHaveLength(1)
    vi.advanceTimersByTime(1)
    expect(await slow).toEqual({ kind: 'timeout' })
    const abort = new AbortController()
    const left = draw('graph TD', false, abort)
    abort.abort()
    expect(await left).toEqual({ kind: 'timeout' })
    expect(frames()).toEqual([])
  })

  it('is not tried for a text that is too long', async () => {
    expect(await draw('x'.repeat(LONGEST + 1), false, { signal })).toEqual({ kind: 'too_long' })
    expect(frames()).toEqual([])
  })
})
