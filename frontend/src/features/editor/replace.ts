/** The smallest single change that turns one text into another, so that cursor, scroll and undo history survive. */
export function smallestChange(
  from: string,
  to: string,
): { from: number; to: number; insert: string } | null {
  if (from === to) return null
  const shorter = Math.min(from.length, to.length)
  let start = 0
  while (start < shorter && from[start] === to[start]) start++
  let end = 0
  while (end < shorter - start && from[from.length - 1 - end] === to[to.length - 1 - end]) end++
  return { from: start, to: from.length - end, insert: to.slice(start, to.length - end) }
}
