/** Conversations and projects: the endpoints whose responses have an envelope. */
import type { Client } from 'openapi-fetch'
import { ApiError, api, dataOf } from './client'
import type { Conversation, ConversationChange } from './types'

/** A folder that the tools of conversations can work in. */
export interface Project {
  id: string
  name: string
  path: string
  description: string
  /** It is a folder of the machine that the server only refers to. */
  linked: boolean
  created_at: string
  updated_at: string
}

interface Page<Item> {
  items: Item[]
  next_cursor?: string | null
  has_more: boolean
}

/** The part of the API that its description lacks so far. */
interface ProjectPaths {
  '/api/projects': {
    get: {
      parameters: { query: { limit: number; cursor?: string } }
      responses: { 200: { content: { 'application/json': { code: number; data: Page<Project> } } } }
    }
  }
}
const projects = api as unknown as Client<ProjectPaths>

/** Number of items that are asked for at once: the maximum. */
const PAGE = 100

/** Reads a list to its end, page by page. */
async function whole<Item>(read: (query: { limit: number; cursor?: string }) => Promise<Page<Item>>) {
  const items: Item[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Page<Item> = await read({ limit: PAGE, ...(cursor && { cursor }) })
    items.push(...page.items)
    cursor = page.has_more ? (page.next_cursor ?? null) : null
  }
  return items
}

/** All projects of the server; none if it has no projects. */
export async function listProjects(): Promise<Project[]> {
  try {
    return await whole(query =>
      dataOf(projects.GET('/api/projects', { params: { query } })).then(r => r.data),
    )
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return []
    throw error
  }
}

/** The ids of the conversations that are bound to a project. Archived ones are not among them. */
export const listBound = async (project_id: string): Promise<string[]> => {
  const all = await whole(query =>
    dataOf(api.GET('/api/conversations', { params: { query: { ...query, project_id } } })).then(r => r.data),
  )
  return all.map(({ id }) => id)
}

export const getConversation = (id: string): Promise<Conversation> =>
  dataOf(api.GET('/api/conversations/{id}', { params: { path: { id } } })).then(r => r.data)

/** Changes what is chosen for a conversation from its next message on: null resets a value, an absent one stays. */
export const changeConversation = (id: string, body: ConversationChange): Promise<Conversation> =>
  dataOf(api.PATCH('/api/conversations/{id}', { params: { path: { id } }, body })).then(r => r.data)
