/** Reads what a person picks of an MCP server. Null if it cannot be read; a message says why. */
import { getPrompt, readResource } from '@/api/mcp'
import type { McpPrompt } from '@/api/types'
import { t } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'
import { toast } from '@/stores/toasts'

async function orSay(read: Promise<{ text: string }>): Promise<string | null> {
  try {
    return (await read).text
  } catch (error) {
    toast(t('notDone', { reason: reasonOf(error) }), { tone: 'bad' })
    return null
  }
}

export const resourceText = (server: string, uri: string) => orSay(readResource(server, uri))
export const promptText = (server: string, prompt: McpPrompt, values: Record<string, string>) =>
  orSay(getPrompt(server, prompt, values))
