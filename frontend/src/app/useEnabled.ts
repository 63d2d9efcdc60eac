import { useSyncExternalStore } from 'react'
import { queryClient } from '@/api/queries'
import { useArrangement } from '@/features/sessions/arrangement'
import { useBuffers } from '@/stores/buffers'
import { useNewChoice } from '@/stores/choice'
import { useFolds } from '@/stores/folds'
import { useLive } from '@/stores/live'
import { useProject } from '@/stores/project'
import { useSeen } from '@/stores/seen'
import { useToasts } from '@/stores/toasts'
import { useUi } from '@/stores/ui'
import type { Command, CommandContext } from './command'
import { COMMANDS, type CommandId, commandOf, isEnabled } from './commands'

const STORES = [
  ...[useLive, useNewChoice, useUi, useBuffers],
  ...[useArrangement, useProject, useFolds, useSeen, useToasts],
]

/** Calls back when something changes that the `enabled` of a command reads. */
function subscribe(onChange: () => void): () => void {
  const cache = queryClient.getQueryCache().subscribe(({ type }) => {
    // Queries are also added during rendering, when no component may be updated.
    if (type === 'updated' || type === 'removed') onChange()
  })
  const stores = STORES.map(store => store.subscribe(onChange))
  return () => {
    cache()
    for (const unsubscribe of stores) unsubscribe()
  }
}

const never = () => () => {}

/** Whether a command is enabled. */
export function useEnabled(id: CommandId, context: CommandContext): boolean {
  const command = commandOf(id)
  return useSyncExternalStore(command.enabled ? subscribe : never, () => isEnabled(command, context))
}

/** The enabled commands. Renders again only when they change. */
export function useEnabledCommands(context: CommandContext): readonly Command<CommandId>[] {
  const flags = useSyncExternalStore(subscribe, () =>
    COMMANDS.map(command => (isEnabled(command, context) ? '1' : '0')).join(''),
  )
  return COMMANDS.filter((_, i) => flags[i] === '1')
}
