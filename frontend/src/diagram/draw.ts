/**
 * Draws a diagram in a frame of its own, which exists only while it draws. The frame has no origin, so that nothing that
 * a text makes of it can reach the page or the server; a frame that takes too long is removed.
 */
import address from 'virtual:diagram-document'
import type { Drawing, Order } from './protocol'

/** Maximum characters of a diagram. */
export const LONGEST = 20_000
const PATIENCE_MS = 10_000

export type Drawn =
  | Exclude<Drawing, { kind: 'ready' }>
  | { kind: 'too_long' }
  /** The frame has not answered in time. */
  | { kind: 'timeout' }

/** What a frame says, or null if it is none of what `frame.ts` says: the frame has read an untrusted text. */
function drawingIn(data: unknown): Drawing | null {
  const { kind, svg, width, height, reason } = Object(data) as Record<string, unknown>
  if (kind === 'ready') return { kind }
  if (kind === 'failed' && typeof reason === 'string') return { kind, reason }
  const isPicture = typeof svg === 'string' && typeof width === 'number' && typeof height === 'number'
  return kind === 'drawn' && isPicture ? { kind, svg, width, height } : null
}

/** A frame must have a size to measure texts in, but nobody sees it. */
function hiddenFrame(): HTMLIFrameElement {
  const frame = document.createElement('iframe')
  frame.setAttribute('sandbox', 'allow-scripts')
  frame.referrerPolicy = 'no-referrer'
  frame.className = 'pointer-events-none fixed top-0 left-0 -z-50 h-[800px] w-[1200px] opacity-0'
  frame.title = 'Diagram'
  frame.tabIndex = -1
  frame.setAttribute('aria-hidden', 'true')
  frame.src = address
  return frame
}

export function draw(code: string, dark: boolean, { signal }: { signal: AbortSignal }): Promise<Drawn> {
  if (code.length > LONGEST) return Promise.resolve({ kind: 'too_long' })
  return new Promise(resolve => {
    const frame = hiddenFrame()
    const end = (drawn: Drawn) => {
      clearTimeout(timer)
      removeEventListener('message', hear)
      signal.removeEventListener('abort', stop)
      frame.remove()
      resolve(drawn)
    }
    const stop = () => end({ kind: 'timeout' })
    const hear = ({ source, data }: MessageEvent<unknown>) => {
      const drawing = source === frame.contentWindow ? drawingIn(data) : null
      if (!drawing) return
      if (drawing.kind !== 'ready') return end(drawing)
      const order: Order = { code, dark, longest: LONGEST }
      // The frame has no origin to name.
      frame.contentWindow?.postMessage(order, '*')
    }
    const timer = setTimeout(stop, PATIENCE_MS)
    addEventListener('message', hear)
    signal.addEventListener('abort', stop)
    document.body.append(frame)
  })
}
