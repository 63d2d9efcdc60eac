// Replaces /api/retrieval where a test needs what the tested server lacks: an embedding model (its weights are 32
// MB), an index that is being built, a failure. A small but honest search over the files of the tested home, in the
// server's formats.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

const IGNORED = new Set(['where', 'what', 'is', 'the', 'a', 'do', 'i', 'my', 'how', 'to', 'does', 'of'])
const WEIGHT = 0.2
const bytes = text => Buffer.byteLength(text)
const wordsOf = text => text.toLowerCase().match(/[a-z0-9]+|[\u4e00-\u9fff]/g) ?? []

/**
 * Splits a text at headings; long pieces are split at blank lines, and each piece repeats the last block of the one
 * before.
 */
function chunksOf(path, text) {
  const lines = text.split('\n')
  const starts = lines.flatMap((line, i) => (i === 0 || /^#{1,3} /.test(line) ? [i] : []))
  const headings = []
  const chunks = []
  for (const [n, first] of starts.entries()) {
    const end = starts[n + 1] ?? lines.length
    const [, marks, name] = /^(#{1,3}) (.*)/.exec(lines[first]) ?? []
    if (marks) headings.splice(marks.length - 1, 9, name)
    let from = first
    while (from < end) {
      let to = from
      let size = 0
      while (to < end && (size < 500 || lines[to] !== '')) size += lines[to++].length
      const body = lines.slice(from, to).join('\n')
      const start = bytes(lines.slice(0, from).join('\n')) + (from > 0 ? 1 : 0)
      chunks.push({
        id: `${path}#${chunks.length}`,
        heading: headings.filter(Boolean).join(' › ') || undefined,
        lines: [from + 1, to],
        range: [start, start + bytes(body)],
        tokens: Math.ceil(body.length / 4),
        text: body,
        embedded: true,
      })
      if (lines.slice(to, end).every(line => line === '')) break
      let back = to - 1
      while (back > from + 1 && lines[back - 1] !== '') back--
      from = back > from + 1 ? back : to
    }
  }
  return chunks
}

/** A substitute for meaning: the cosine similarity of the letter pairs of two texts. */
function cosine(a, b) {
  const grams = text => {
    const counts = new Map()
    for (let i = 0; i < text.length - 1; i++) {
      const gram = text.slice(i, i + 2).toLowerCase()
      if (/\S\S/.test(gram)) counts.set(gram, (counts.get(gram) ?? 0) + 1)
    }
    return counts
  }
  const [x, y] = [grams(a), grams(b)]
  let dot = 0
  for (const [gram, n] of x) dot += n * (y.get(gram) ?? 0)
  const norm = m => Math.sqrt([...m.values()].reduce((sum, n) => sum + n * n, 0))
  return dot / (norm(x) * norm(y) || 1)
}

function shares(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)]
  return value => (high > low ? (value - low) / (high - low) : 1)
}

function searchIn(chunks, { query, folder, k, candidates }) {
  const ignored = wordsOf(query).filter(word => IGNORED.has(word))
  const terms = [...new Set(wordsOf(query).filter(word => !IGNORED.has(word)))].map(term => {
    const texts = chunks.filter(chunk => wordsOf(chunk.text).includes(term)).length
    return { term, texts, idf: texts ? Math.log(1 + (chunks.length - texts + 0.5) / (texts + 0.5)) : 0 }
  })
  const lexical = chunks.map(chunk => {
    const found = terms.flatMap(({ term, texts, idf }) => {
      const times = wordsOf(`${chunk.heading} ${chunk.text}`).filter(word => word === term).length
      return times && texts ? [{ term, score: (idf * times * 2.2) / (times + 1.2), times, texts }] : []
    })
    return { score: found.reduce((sum, t) => sum + t.score, 0), terms: found }
  })
  const withWord = lexical.filter(leg => leg.score > 0).map(leg => leg.score)
  const lexicalShare = shares(withWord.length ? [...withWord, 0] : [0])
  const near = chunks.map(chunk => (chunk.embedded ? cosine(query, chunk.text) : null))
  const vectorShare = shares(near.filter(n => n !== null))
  const rankIn = (all, value) => 1 + all.filter(other => other !== null && other > value).length
  const scored = chunks.map((chunk, i) => {
    const leg = lexical[i]
    const words = leg.score > 0 ? lexicalShare(leg.score) : 0
    const meaning = near[i] === null ? words : vectorShare(near[i])
    return {
      chunk,
      score: WEIGHT * meaning + (1 - WEIGHT) * words,
      how: {
        vector_weight: WEIGHT,
        ...(leg.score > 0 && {
          lexical: {
            ...leg,
            share: words,
            rank: rankIn(
              lexical.map(l => l.score),
              leg.score,
            ),
          },
        }),
        ...(near[i] !== null && {
          vector: { cosine: near[i], share: meaning, rank: rankIn(near, near[i]) },
        }),
      },
    }
  })
  scored.sort((a, b) => b.score - a.score)
  const all = scored.slice(0, Math.max(k, candidates ?? k + 3)).map(({ chunk, score, how }, i) => ({
    text: chunk.text,
    score,
    source: chunk.path,
    heading: chunk.heading,
    lines: chunk.lines,
    range: chunk.range,
    how: { rank: i + 1, ...how },
  }))
  const hits = all.slice(0, k)
  const last = hits.at(-1)
  const reason = ({ how }) => {
    if (!how.lexical) return 'no_shared_word'
    const fewer = how.lexical.share < (last.how.lexical?.share ?? 0)
    const farther = how.vector && how.vector.share < (last.how.vector?.share ?? last.how.lexical.share)
    if (farther) return fewer ? 'both_weaker' : 'farther_meaning'
    return how.vector ? 'weaker_words' : 'no_vector_yet'
  }
  return {
    query,
    folder,
    k,
    weights: { lexical: 1 - WEIGHT, vector: WEIGHT, other_script: 0.8, reason: 'balanced' },
    terms,
    ignored,
    model: { id: 'mini-256', dimension: 256 },
    embedded: { done: chunks.filter(chunk => chunk.embedded).length, total: chunks.length },
    hits,
    near_misses: all.slice(k).map(hit => ({
      hit,
      behind: last.score - hit.score,
      reason: reason(hit),
      detail: 'The figures say why.',
    })),
    took_us: { refresh: 310, lexical: 84, embed: 1420, vector: 36, fuse: 12 },
  }
}

const read = (app, path) => readFile(join(app.home, path), 'utf8')

async function indexed(app, folder, world = {}) {
  const names = await readdir(join(app.home, folder), { recursive: true })
  const texts = names.filter(name => name.endsWith('.md')).sort()
  const all = await Promise.all(
    texts.map(async name => chunksOf(`${folder}/${name}`, await read(app, `${folder}/${name}`))),
  )
  return all.flatMap((chunks, i) =>
    chunks.map(chunk => ({ ...chunk, path: `${folder}/${texts[i]}`, embedded: !world.unembedded?.(chunk) })),
  )
}

/** A search result, for frames that a test creates. */
export const fakeSearch = async (app, { query, folder, k = 3 }) =>
  searchIn(await indexed(app, folder), { query, folder, k })

/** Installs the search in a page. `world` is what a test may change or inspect. */
export async function fakeRetrieval(page, app, world = {}) {
  world.asked = 0
  const chunksIn = folder => indexed(app, folder, world)
  const statusOf = async folder => {
    const chunks = await chunksIn(folder)
    return {
      folder,
      files: new Set(chunks.map(chunk => chunk.path)).size,
      chunks: chunks.length,
      embedded: chunks.filter(chunk => chunk.embedded).length,
      state: 'ready',
      done: 0,
      total: 0,
      unreadable: folder === 'knowledge' ? (world.unreadable ?? []) : [],
      left_out: folder === 'knowledge' ? (world.leftOut ?? 0) : 0,
      bytes_on_disk: 48_000,
    }
  }
  const answers = {
    search: async query => {
      world.asked++
      const folder = query.get('folder')
      return searchIn(await chunksIn(folder), {
        query: query.get('query'),
        folder,
        k: Number(query.get('k') ?? 3),
        candidates: Number(query.get('candidates') ?? 0),
      })
    },
    status: async () => ({
      folders: [await statusOf('memory'), await statusOf('knowledge')],
      model: world.model ?? { id: 'mini-256', dimension: 256, state: 'ready' },
    }),
    chunks: async query => {
      const path = query.get('path')
      const chunks = await chunksIn(path.split('/')[0])
      const own = chunks.filter(chunk => chunk.path === path).map(({ path: _, ...chunk }) => chunk)
      return { path, title: own[0]?.heading ?? path, chunks: own }
    },
  }
  await page.route('**/api/retrieval/**', async route => {
    const url = new URL(route.request().url())
    const name = url.pathname.split('/').pop()
    if (world.fault?.[name]) {
      return route.fulfill({ status: 500, json: { code: 'broken', message: world.fault[name] } })
    }
    if (!answers[name]) return route.fallback()
    return route.fulfill({ json: await answers[name](url.searchParams) })
  })
  return world
}

/** Lets a test send events in place of the event stream. Has to be called before the page is opened. */
export const catchStream = context =>
  context.addInitScript(() => {
    const Real = window.EventSource
    window.EventSource = class extends Real {
      constructor(...args) {
        super(...args)
        window.stream = this
      }
    }
  })

export const emit = (page, notice) =>
  page.evaluate(
    told => window.stream.dispatchEvent(new MessageEvent(told.type, { data: JSON.stringify(told) })),
    notice,
  )
