/** The MCP servers of the home. */
import { useQuery } from '@tanstack/react-query'
import { api, asPage } from './client'
import { queryClient } from './queries'
import type { McpPrompt, McpRules, McpServers, McpSignInAnswer } from './types'

export const mcpKey = ['mcp'] as const

const of = (name: string) => ({ path: { name } })

/** With the secret, so that a person sees the values of variables that they confirm. */
export const listMcpServers = () => asPage(header => api.GET('/api/mcp', { headers: header }))
export const addMcpServers = (mcpServers: Record<string, never>) =>
  asPage(header => api.POST('/api/mcp', { params: { header }, body: { mcpServers } }))
export const removeMcpServer = (name: string, keepFiles: boolean) =>
  asPage(header =>
    api.DELETE('/api/mcp/{name}', { params: { header, ...of(name), query: { keep_files: keepFiles } } }),
  )
export const setMcpRules = (name: string, rules: McpRules) =>
  asPage(header => api.PUT('/api/mcp/{name}/rules', { params: { header, ...of(name) }, body: rules }))
/** Returns the address that the person opens. */
export const beginMcpSignIn = (name: string) =>
  asPage(header => api.POST('/api/mcp/{name}/login', { params: { header, ...of(name) } }))
export const endMcpSignIn = (name: string) =>
  asPage(header => api.DELETE('/api/mcp/{name}/login', { params: { header, ...of(name) } }))
/** Hands over what the browser has brought back from the authorization server. */
export const finishMcpSignIn = (answer: McpSignInAnswer) =>
  asPage(header => api.POST('/api/mcp-sign-in', { params: { header }, body: answer }))
export const trustMcpServer = (name: string, sha256: string) =>
  asPage(header => api.POST('/api/mcp/{name}/trust', { params: { header, ...of(name) }, body: { sha256 } }))
export const trustMcpTools = (name: string, tools: { name: string; sha256: string }[]) =>
  asPage(header =>
    api.POST('/api/mcp/{name}/tools/trust', { params: { header, ...of(name) }, body: { tools } }),
  )
export const reconnectMcpServer = (name: string) =>
  asPage(header => api.POST('/api/mcp/{name}/reconnect', { params: { header, ...of(name) } }))

export const listResources = (name: string) =>
  asPage(header => api.GET('/api/mcp/{name}/resources', { params: { header, ...of(name) } }))
export const readResource = (name: string, uri: string) =>
  asPage(header =>
    api.POST('/api/mcp/{name}/resources/read', { params: { header, ...of(name) }, body: { uri } }),
  )
export const listPrompts = (name: string) =>
  asPage(header => api.GET('/api/mcp/{name}/prompts', { params: { header, ...of(name) } }))
/** In the version that the person has seen. */
export const getPrompt = (server: string, { name, sha256 }: McpPrompt, values: Record<string, string>) =>
  asPage(header =>
    api.POST('/api/mcp/{name}/prompts/get', {
      params: { header, ...of(server) },
      body: { name, sha256, arguments: values as Record<string, never> },
    }),
  )

/** Asked again while a server starts, or a person signs in. */
export const useMcpServers = () =>
  useQuery({
    queryKey: mcpKey,
    queryFn: listMcpServers,
    staleTime: 0,
    refetchInterval: ({ state }) =>
      state.data?.servers.some(({ status, signing_in }) => status === 'starting' || signing_in)
        ? 1000
        : false,
  })

/** Shows the list that a change was answered with. */
export const keepMcpServers = (servers: McpServers): void => {
  queryClient.setQueryData(mcpKey, servers)
}
