/** All commands. Keys, tooltips, the help sheet and the palette read this table, in its order. */
import { isSignedOut } from '@/api/signedOut'
import { approvalCommands } from '@/features/approvals/commands'
import { authCommands } from '@/features/auth/commands'
import { changesCommands } from '@/features/changes/commands'
import { chatCommands, messageCommands } from '@/features/chat/commands'
import { compressCommands } from '@/features/compress/commands'
import { conversationCommands } from '@/features/conversation/commands'
import { editorCommands } from '@/features/editor/commands'
import { modelCommands } from '@/features/model/commands'
import { operationsCommands } from '@/features/operations/commands'
import { paletteCommands } from '@/features/palette/commands'
import { playgroundCommands } from '@/features/playground/commands'
import { projectCommands } from '@/features/project/commands'
import { recoveryCommands } from '@/features/recovery/commands'
import { retrievalCommands } from '@/features/retrieval/commands'
import { exportCommands, sessionCommands } from '@/features/sessions/commands'
import { appearanceCommands, settingsCommands } from '@/features/settings/commands'
import { skillCommands } from '@/features/skills/commands'
import { usageCommands } from '@/features/usage/commands'
import { xrayCommands } from '@/features/xray/commands'
import type { Command, CommandContext } from './command'
import { paneCommands } from './paneCommands'

const ALL = [
  ...paletteCommands,
  ...chatCommands,
  ...editorCommands,
  ...skillCommands,
  ...sessionCommands,
  ...paneCommands,
  ...approvalCommands,
  ...settingsCommands,
  ...messageCommands,
  ...conversationCommands,
  ...modelCommands,
  ...projectCommands,
  ...operationsCommands,
  ...changesCommands,
  ...xrayCommands,
  ...recoveryCommands,
  ...playgroundCommands,
  ...usageCommands,
  ...compressCommands,
  ...exportCommands,
  ...retrievalCommands,
  ...appearanceCommands,
  ...authCommands,
]

export type CommandId = (typeof ALL)[number]['id']

export const COMMANDS: readonly Command<CommandId>[] = ALL

const byId = new Map(COMMANDS.map(command => [command.id, command]))

export function commandOf(id: CommandId): Command<CommandId> {
  const command = byId.get(id)
  if (!command) throw new Error(`no command ${id}`)
  return command
}

export const isEnabled = (command: Command, context: CommandContext): boolean =>
  command.enabled?.(context) ?? true

/** Runs a command if it is enabled. While the sign-in covers the page, no command runs. */
export function runCommand(id: CommandId, context: CommandContext): void {
  const command = commandOf(id)
  if (!isSignedOut() && isEnabled(command, context)) command.run(context)
}
