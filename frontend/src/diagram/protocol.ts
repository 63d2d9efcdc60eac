/** What the page and the frame that draws say to each other. */

export interface Order {
  code: string
  dark: boolean
  /** Maximum characters of the code. */
  longest: number
}

export type Drawing =
  | { kind: 'ready' }
  | { kind: 'drawn'; svg: string; width: number; height: number }
  | { kind: 'failed'; reason: string }
