/** A command is something a person can do by a key, the palette or a button. Each feature lists its own; `commands.ts` has them all. */
import type { RefObject } from 'react'
import type { Key } from '@/lib/i18n'
import type { Width } from '@/lib/useMedia'

/** Keys that are pressed together. */
export interface Chord {
  /** Physical key: what is printed on it, and what Shift makes of it, differ between layouts. */
  code: string
  mod?: true
  shift?: true
  alt?: true
}

/** Where the keys of a command work. `outside text`: a single letter must not fire while somebody writes. `chat`: only
 * with the focus in the chat. `run`: there too, and not while a call waits for an answer. `message`: only with the focus
 * on a message. `uncovered`: not while a dialog or a menu is open. */
export type Scope = 'outside text' | 'uncovered' | 'chat' | 'run' | 'message'

/** Where the person is when a command runs. */
export interface CommandContext {
  sessionId: string | null
  width: Width
  /** The text field of the composer, while it is on the page. */
  input: RefObject<HTMLTextAreaElement | null>
  navigate: (path: string) => void
}

export interface Command<Id extends string = string> {
  id: Id
  label: Key
  /** Fills the place `{name}` of the label. */
  name?: Key
  /** The keys until a person chooses others; null for a command that has none and cannot be given any. */
  keys: Chord | null
  /** Everywhere, if absent. */
  scope?: Scope
  /** A command that is not enabled is not offered. Always enabled, if absent. */
  enabled?: (context: CommandContext) => boolean
  run: (context: CommandContext) => void
}

/** Keeps the ids as a union type. */
export const defineCommands = <const Id extends string>(
  commands: readonly Command<Id>[],
): readonly Command<Id>[] => commands
