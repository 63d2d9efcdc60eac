/**
 * A command is an action that a person triggers by a shortcut, the palette or a button. Each feature lists its own;
 * `commands.ts` collects them.
 */
import type { RefObject } from 'react'
import type { Key } from '@/lib/i18n'
import type { Width } from '@/lib/useMedia'

/** Keys that are pressed together. */
export interface Chord {
  /** Physical key: its label, and the character it makes with Shift, differ between layouts. */
  code: string
  mod?: true
  shift?: true
  alt?: true
}

/**
 * Where the shortcut of a command works. Each scope requires that no dialog or menu is open, and `uncovered` nothing
 * else. `outside text`: not in a text field, because a single letter must not fire during typing. `chat`: only with
 * the focus in the chat. `run`: the same, but not while a call waits for an answer. `message`: only with the focus on
 * a message. `outside editor`: not in a file, which has a search of its own.
 */
export type Scope = 'outside text' | 'uncovered' | 'chat' | 'run' | 'message' | 'outside editor'

/** The context in which a command runs. */
export interface CommandContext {
  sessionId: string | null
  width: Width
  /** The composer's text field, while it is on the page. */
  input: RefObject<HTMLTextAreaElement | null>
  navigate: (path: string) => void
}

export interface Command<Id extends string = string> {
  id: Id
  label: Key
  /** Replaces `{name}` in the label. */
  name?: Key
  /** The default shortcut; null for a command that has none and cannot get one. */
  keys: Chord | null
  /** The shortcut works everywhere if absent. */
  scope?: Scope
  /** A disabled command is not offered. Always enabled if absent. */
  enabled?: (context: CommandContext) => boolean
  run: (context: CommandContext) => void
}

/** Preserves the ids as a union type. */
export const defineCommands = <const Id extends string>(
  commands: readonly Command<Id>[],
): readonly Command<Id>[] => commands
