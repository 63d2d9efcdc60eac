/** What the searches in conversations of the loaded conversations have found. */
import { searchDataOf } from '@/features/retrieval/data'
import { type MessagePlace, quoteIn, wordsFound } from '@/lib/messageCitation'
import { useLive } from '@/stores/live'
import { shownThread } from '@/thread/loaded'
import type { Segment } from '@/thread/model'

interface Recalled {
  quote: string
  terms: readonly string[]
}

function recalledIn(segment: Segment, place: MessagePlace): Recalled | null {
  const source = `${place.session}:${place.message}`
  if (segment.kind === 'retrieval') {
    const hit = segment.hits.find(hit => hit.source === source)
    return hit ? { quote: hit.text, terms: hit.how?.lexical?.terms.map(({ term }) => term) ?? [] } : null
  }
  if (segment.kind !== 'tools') return null
  for (const step of segment.steps) {
    const quote = quoteIn(step.output, place)
    const hit = quote === null ? undefined : searchDataOf(step)?.hits.find(hit => names(hit, place))
    if (quote !== null && hit) return { quote, terms: hit.how?.lexical?.terms.map(({ term }) => term) ?? [] }
  }
  return null
}

const names = (
  hit: { session_id?: string; messages?: { message_id: string }[] },
  place: MessagePlace,
): boolean =>
  hit.session_id === place.session &&
  (hit.messages?.some(({ message_id }) => message_id === place.message) ?? false)

/** The words by which a message was found; null if no loaded conversation says so. */
export function recalledWords(place: MessagePlace): string | null {
  for (const loaded of Object.values(useLive.getState().threads)) {
    for (const entry of shownThread(loaded)?.entries ?? []) {
      if (entry.kind !== 'assistant') continue
      for (const segment of entry.segments) {
        const found = recalledIn(segment, place)
        if (found) return wordsFound(found.quote, found.terms) || null
      }
    }
  }
  return null
}
