/** What may run in one conversation: the choices in the composer. */
import type { Chosen } from '@/api/types'
import type { Key } from '@/lib/i18n'

export type PermissionMode = NonNullable<Chosen['permission_mode']>

interface Choice {
  /** Null for the rules of the settings. */
  mode: PermissionMode | null
  name: Key
}

const DEFAULT: Choice = { mode: null, name: 'modeDefault' }

export const CHOICES: readonly Choice[] = [
  DEFAULT,
  { mode: 'read_only', name: 'modeReadOnly' },
  { mode: 'plan', name: 'modePlan' },
  { mode: 'ask', name: 'modeAsk' },
  { mode: 'sandboxed', name: 'modeSandboxed' },
]

export const choiceOf = (mode: PermissionMode | null | undefined): Choice =>
  CHOICES.find(choice => choice.mode === (mode ?? null)) ?? DEFAULT

/** Chooses a mode; everything else that is chosen for the conversation stays. */
export function withMode(chosen: Chosen, mode: PermissionMode | null): Chosen {
  const { permission_mode: _, ...rest } = chosen
  return mode === null ? rest : { ...rest, permission_mode: mode }
}
