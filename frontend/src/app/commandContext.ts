import { createContext, useContext } from 'react'
import type { CommandContext } from './command'

const Context = createContext<CommandContext | null>(null)

/** Sets the context in which the commands of the components below run. */
export const CommandProvider = Context.Provider

export function useCommandContext(): CommandContext {
  const context = useContext(Context)
  if (!context) throw new Error('a command is shown outside CommandProvider')
  return context
}
