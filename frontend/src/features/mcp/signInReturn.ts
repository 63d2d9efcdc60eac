import { finishMcpSignIn, mcpKey } from '@/api/mcp'
import { queryClient } from '@/api/queries'
import type { McpSignInAnswer } from '@/api/types'
import { t } from '@/lib/i18n'
import '@/lib/later'
import { reasonOf } from '@/lib/reason'
import { toast } from '@/stores/toasts'
import { openDialog } from '@/stores/ui'

/** What an authorization server has added to the address; null if there is nothing that a sign-in could end with. */
export function answerIn(search: string): McpSignInAnswer | null {
  const query = new URLSearchParams(search)
  const state = query.get('state')
  if (!state) return null
  return { state, code: query.get('code'), error: query.get('error'), iss: query.get('iss') }
}

/** Ends a sign-in to an MCP server, and shows the servers. */
export async function endSignIn(search: string): Promise<void> {
  const answer = answerIn(search)
  if (!answer) return
  try {
    const { name } = await finishMcpSignIn(answer)
    toast(t('mcpSignedInTo', { name }))
  } catch (cause) {
    toast(t('notDone', { reason: reasonOf(cause) }), { tone: 'bad' })
  }
  await queryClient.invalidateQueries({ queryKey: mcpKey })
  openDialog({ name: 'settings' })
}
