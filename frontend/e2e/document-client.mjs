// A client of the API that the NanoClaw document describes, written from the document alone: the envelope, the token, and
// the events of a message read from a `ReadableStream`. It knows nothing of miniclaw.

export class DocumentError extends Error {
  constructor(code, message) {
    super(message)
    this.code = code
  }
}

export class DocumentClient {
  #url
  #token = null

  constructor(url) {
    this.#url = url
  }

  setToken(token) {
    this.#token = token
  }

  #fetch(method, path, body) {
    const headers = {}
    if (this.#token) headers.Authorization = `Bearer ${this.#token}`
    if (body !== undefined && !(body instanceof FormData)) headers['Content-Type'] = 'application/json'
    const sent = body === undefined || body instanceof FormData ? body : JSON.stringify(body)
    return fetch(this.#url + path, { method, headers, body: sent })
  }

  /** The `data` of an answer; throws for every code other than 0. */
  async request(method, path, body) {
    const answer = await (await this.#fetch(method, path, body)).json()
    if (answer.code !== 0) throw new DocumentError(answer.code, answer.message)
    return answer.data
  }

  /** All items of a list, page by page. */
  async all(path, limit = 20) {
    const items = []
    for (let cursor = null; ; ) {
      const query = new URLSearchParams({ limit, ...(cursor && { cursor }) })
      const page = await this.request('GET', `${path}${path.includes('?') ? '&' : '?'}${query}`)
      items.push(...page.items)
      if (!page.has_more) return items
      cursor = page.next_cursor
    }
  }

  /**
   * Sends a message, or asks for another answer, and reads the events until the stream ends. Returns the steps by their
   * order, each as it was last, how often a step was sent, and what `done` and `error` said.
   */
  async stream(path, body = {}) {
    const answer = await this.#fetch('POST', path, body)
    if (!answer.ok) {
      const { code, message } = await answer.json()
      throw new DocumentError(code, message)
    }
    const seen = { steps: new Map(), sent: 0, done: null, error: null }
    const dispatch = (event, data) => {
      if (event === 'process_step') {
        seen.sent += 1
        seen.steps.set(data.id, data)
      } else if (event === 'done') seen.done = data
      else if (event === 'error') seen.error = data
    }
    const reader = answer.body.getReader()
    const decoder = new TextDecoder()
    let buffer = ''
    let event = ''
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      buffer += decoder.decode(value, { stream: true })
      const lines = buffer.split('\n')
      buffer = lines.pop()
      for (const line of lines) {
        if (line.startsWith('event: ')) event = line.slice(7).trim()
        else if (line.startsWith('data: ')) dispatch(event, JSON.parse(line.slice(6)))
      }
    }
    return { ...seen, steps: [...seen.steps.values()].sort((a, b) => a.index - b.index) }
  }
}
