/** True if every typed word occurs in the text, in any order. */
export const matches = (text: string, query: string): boolean => {
  const lower = text.toLowerCase()
  return query
    .toLowerCase()
    .split(/\s+/)
    .every(word => lower.includes(word))
}
