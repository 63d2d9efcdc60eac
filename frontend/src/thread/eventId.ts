/**
 * Event ids have the form `boot.number`: the number grows within one run of the server and means nothing across runs.
 */

export interface EventId {
  boot: string
  number: number
}

export function parseEventId(id: string): EventId | null {
  const dot = id.lastIndexOf('.')
  const number = Number(id.slice(dot + 1))
  return dot > 0 && Number.isSafeInteger(number) ? { boot: id.slice(0, dot), number } : null
}

/** True if a state that reaches up to `upTo` already contains the event `id`. */
export function isCovered(id: string | null, upTo: string | null): boolean {
  const a = id === null ? null : parseEventId(id)
  const b = upTo === null ? null : parseEventId(upTo)
  return a !== null && b !== null && a.boot === b.boot && a.number <= b.number
}
