/** What the palette offers. */
export interface Item {
  id: string
  group: 'commands' | 'sessions' | 'files'
  text: string
  keys: readonly string[]
  run: () => void
}
