/** Conversations and projects: the endpoints whose responses have an envelope. */
import { api, dataOf } from './client'
import type { Conversation, ConversationChange, Project } from './types'

interface Page<Item> {
  items: Item[]
  next_cursor?: string | null
  has_more: boolean
}

/** Number of items that are asked for at once: the maximum. */
const PAGE = 100

/** Reads a list to its end, page by page. */
export async function whole<Item>(read: (query: { limit: number; cursor?: string }) => Promise<Page<Item>>) {
  const items: Item[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Page<Item> = await read({ limit: PAGE, ...(cursor && { cursor }) })
    items.push(...page.items)
    cursor = page.has_more ? (page.next_cursor ?? null) : null
  }
  return items
}

/** All projects that people have made. */
export const listProjects = (): Promise<Project[]> =>
  whole(query => dataOf(api.GET('/api/projects', { params: { query } })).then(r => r.data))

/** The ids of the conversations that are bound to a project, archived ones too. */
export const listBound = async (project_id: string): Promise<string[]> => {
  const all = await whole(query =>
    dataOf(
      api.GET('/api/conversations', { params: { query: { ...query, project_id, archived: true } } }),
    ).then(r => r.data),
  )
  return all.map(({ id }) => id)
}

/**
 * The project of each of these conversations; null for none. The most recently used ones come first, so that the rest of a long list is
 * not read for a new one.
 */
export async function listPlaces(ids: readonly string[]): Promise<Record<string, string | null>> {
  const found: Record<string, string | null> = {}
  const left = new Set(ids)
  for (let cursor: string | null = ''; cursor !== null && left.size > 0; ) {
    const query = { limit: PAGE, archived: true, ...(cursor && { cursor }) }
    const page: Page<Conversation> = await dataOf(api.GET('/api/conversations', { params: { query } })).then(
      r => r.data,
    )
    for (const { id, project_id } of page.items) {
      found[id] = project_id ?? null
      left.delete(id)
    }
    cursor = page.has_more ? (page.next_cursor ?? null) : null
  }
  // Those that were deleted meanwhile: nobody asks for them again.
  for (const id of left) found[id] = null
  return found
}

export const getConversation = (id: string): Promise<Conversation> =>
  dataOf(api.GET('/api/conversations/{id}', { params: { path: { id } } })).then(r => r.data)

/** Changes what is chosen for a conversation from its next message on: null resets a value, an absent one stays. */
export const changeConversation = (id: string, body: ConversationChange): Promise<Conversation> =>
  dataOf(api.PATCH('/api/conversations/{id}', { params: { path: { id } }, body })).then(r => r.data)
