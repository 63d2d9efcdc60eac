import type { SessionSummary } from '@/api/types'
import { type CommandContext, defineCommands } from '@/app/command'
import { listed } from './listed'
import { exportOne } from './transfer'

/** The previous or next session of the list; undefined at its end. From outside the list, its first. */
function neighbour(by: 1 | -1, { sessionId }: CommandContext): SessionSummary | undefined {
  const sessions = listed()
  const at = sessions.findIndex(session => session.id === sessionId)
  return sessions[at < 0 ? 0 : at + by]
}

const step = (by: 1 | -1) => ({
  enabled: (context: CommandContext) => neighbour(by, context) !== undefined,
  run: (context: CommandContext) => {
    const next = neighbour(by, context)
    if (next) context.navigate(`/s/${next.id}`)
  },
})

export const sessionCommands = defineCommands([
  {
    id: 'previousSession',
    label: 'previousSession',
    keys: { code: 'ArrowUp', alt: true },
    ...step(-1),
  },
  { id: 'nextSession', label: 'nextSession', keys: { code: 'ArrowDown', alt: true }, ...step(1) },
])

const isOpen = ({ sessionId }: CommandContext): boolean => sessionId !== null
const exportAs =
  (format: 'md' | 'json') =>
  ({ sessionId }: CommandContext): void => {
    if (sessionId) void exportOne(sessionId, format)
  }

export const exportCommands = defineCommands([
  { id: 'exportMd', label: 'exportMd', keys: null, enabled: isOpen, run: exportAs('md') },
  { id: 'exportJson', label: 'exportJson', keys: null, enabled: isOpen, run: exportAs('json') },
])
