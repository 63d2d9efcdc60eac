import { keys, queryClient } from '@/api/queries'
import type { SessionList, SessionSummary } from '@/api/types'
import { type CommandContext, defineCommands } from '@/app/command'
import { exportOne } from './transfer'

/** The previous or next session that is not archived; undefined at the end of the list. */
function neighbour(by: 1 | -1, { sessionId }: CommandContext): SessionSummary | undefined {
  const list = queryClient.getQueryData<SessionList>(keys.sessions)
  const listed = (list?.sessions ?? []).filter(({ id }) => id === sessionId || !list?.archived.includes(id))
  const at = listed.findIndex(session => session.id === sessionId)
  return listed[at < 0 ? 0 : at + by]
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
