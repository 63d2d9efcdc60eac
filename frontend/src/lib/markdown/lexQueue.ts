/** Lexes slow texts in a worker, one after the other, each with a time limit. */
import type { Token } from 'marked'
import { useEffect, useState } from 'react'
import type { DeferredToken } from './lex'

/** Milliseconds: the limit for one text, and the idle time after which the worker is terminated. */
const TIME_LIMIT_MS = 500
const IDLE_MS = 10_000
/** Maximum number of texts whose result is cached, and of their characters. */
const MAX_CACHED_TEXTS = 200
const MAX_CACHED_CHARACTERS = 2_000_000

interface Job {
  token: DeferredToken
  key: string
  done: (tokens: Token[] | null) => void
}

/** A worker, or its substitute in a test. */
export type LexWorker = Pick<Worker, 'postMessage' | 'terminate'> & {
  onmessage: ((event: MessageEvent) => void) | null
  onerror: ((event: ErrorEvent) => void) | null
}

export class LexQueue {
  private readonly known = new Map<string, Token[] | null>()
  private size = 0
  private readonly waiting: Job[] = []
  private worker: LexWorker | null = null
  private current: Job | null = null
  private ready = false
  private timer: ReturnType<typeof setTimeout> | undefined

  constructor(private readonly start: () => LexWorker) {}

  /** The cached result: tokens, null if the text is too costly, undefined if it was not lexed yet. */
  recall(token: DeferredToken): Token[] | null | undefined {
    return this.known.get(keyOf(token))
  }

  /** The tokens of the text; null if they took too long or are too many. */
  lex(token: DeferredToken): Promise<Token[] | null> {
    const known = this.recall(token)
    if (known !== undefined) return Promise.resolve(known)
    return new Promise(done => {
      this.waiting.push({ token, key: keyOf(token), done })
      this.next()
    })
  }

  private next(): void {
    if (this.current) return
    clearTimeout(this.timer)
    const job = this.waiting.shift()
    if (!job) {
      this.timer = setTimeout(() => this.terminate(), IDLE_MS)
      return
    }
    const known = this.known.get(job.key)
    if (known !== undefined) {
      job.done(known)
      this.next()
      return
    }
    this.current = job
    try {
      this.worker ??= this.begin()
    } catch {
      // A browser without workers: the text stays as it is.
      this.end(null)
      return
    }
    if (this.ready) this.send(job)
  }

  private begin(): LexWorker {
    const worker = this.start()
    worker.onmessage = ({ data }) => {
      if (data !== 'ready') return this.end(data as Token[] | null)
      this.ready = true
      if (this.current) this.send(this.current)
    }
    worker.onerror = () => {
      this.terminate()
      this.end(null)
    }
    return worker
  }

  private send(job: Job): void {
    this.worker?.postMessage(job.token)
    this.timer = setTimeout(() => {
      // A worker cannot be told to stop: it receives nothing before it is done.
      this.terminate()
      this.end(null)
    }, TIME_LIMIT_MS)
  }

  private end(tokens: Token[] | null): void {
    clearTimeout(this.timer)
    const job = this.current
    this.current = null
    if (job) {
      this.remember(job.key, tokens)
      job.done(tokens)
    }
    this.next()
  }

  private remember(key: string, tokens: Token[] | null): void {
    this.known.set(key, tokens)
    this.size += key.length
    for (const [oldest] of this.known) {
      if (this.known.size <= MAX_CACHED_TEXTS && this.size <= MAX_CACHED_CHARACTERS) break
      this.known.delete(oldest)
      this.size -= oldest.length
    }
  }

  private terminate(): void {
    clearTimeout(this.timer)
    this.worker?.terminate()
    this.worker = null
    this.ready = false
  }
}

const keyOf = ({ of, raw, links }: DeferredToken): string => `${of}\n${JSON.stringify(links)}\n${raw}`

const queue = new LexQueue(() => new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' }))

/** The tokens of the text once they are available; null before, if there are none, and while the text grows. */
export function useDeferredTokens(token: DeferredToken, live: boolean): Token[] | null {
  const [tokens, setTokens] = useState<Token[] | null>(() => queue.recall(token) ?? null)
  useEffect(() => {
    let left = false
    setTokens(queue.recall(token) ?? null)
    if (!live) {
      void queue.lex(token).then(found => {
        if (!left) setTokens(found)
      })
    }
    return () => {
      left = true
    }
  }, [token, live])
  return tokens
}
