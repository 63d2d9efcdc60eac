/** An entry of the palette. */
export interface Item {
  id: string
  group: 'commands' | 'sessions' | 'files'
  text: string
  keys: readonly string[]
  run: () => void
}
