/** The MCP servers of the home. */
import { useQuery } from '@tanstack/react-query'
import { api, asPage } from './client'
import { queryClient } from './queries'
import type { McpServers } from './types'

export const mcpKey = ['mcp'] as const

const of = (name: string) => ({ path: { name } })

/** With the secret, so that a person sees the values of variables that they confirm. */
export const listMcpServers = () => asPage(header => api.GET('/api/mcp', { headers: header }))
export const addMcpServers = (mcpServers: Record<string, never>) =>
  asPage(header => api.POST('/api/mcp', { params: { header }, body: { mcpServers } }))
export const removeMcpServer = (name: string) =>
  asPage(header => api.DELETE('/api/mcp/{name}', { params: { header, ...of(name) } }))
export const trustMcpServer = (name: string, sha256: string) =>
  asPage(header => api.POST('/api/mcp/{name}/trust', { params: { header, ...of(name) }, body: { sha256 } }))
export const trustMcpTools = (name: string, tools: { name: string; sha256: string }[]) =>
  asPage(header =>
    api.POST('/api/mcp/{name}/tools/trust', { params: { header, ...of(name) }, body: { tools } }),
  )
export const reconnectMcpServer = (name: string) =>
  asPage(header => api.POST('/api/mcp/{name}/reconnect', { params: { header, ...of(name) } }))

/** Asked again while a server starts. */
export const useMcpServers = () =>
  useQuery({
    queryKey: mcpKey,
    queryFn: listMcpServers,
    staleTime: 0,
    refetchInterval: ({ state }) =>
      state.data?.servers.some(({ status }) => status === 'starting') ? 1000 : false,
  })

/** Shows the list that a change was answered with. */
export const keepMcpServers = (servers: McpServers): void => {
  queryClient.setQueryData(mcpKey, servers)
}
