import { useCallback } from 'react'
import { useCommandContext } from './commandContext'
import { type CommandId, runCommand } from './commands'
import { type Hint, useHint } from './hint'
import { useEnabled } from './useEnabled'

/** Runs commands by their ids. The function has a stable identity while the context is the same. */
export function useRun(): (id: CommandId) => void {
  const context = useCommandContext()
  return useCallback(id => runCommand(id, context), [context])
}

interface UsedCommand extends Hint {
  enabled: boolean
  run: () => void
}

/** A command for a control that runs it; `words` is the control's label if it has its own. */
export function useCommand(id: CommandId, words?: string): UsedCommand {
  const run = useRun()
  const enabled = useEnabled(id, useCommandContext())
  return { ...useHint(id, words), enabled, run: () => run(id) }
}
