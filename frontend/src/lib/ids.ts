/** A random id. `crypto.randomUUID` does not exist on plain http from another machine, `getRandomValues` does. */
export function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, b => b.toString(16).padStart(2, '0')).join('')
}
