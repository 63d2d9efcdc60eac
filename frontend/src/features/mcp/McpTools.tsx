import { useId, useState } from 'react'
import { keepMcpServers, trustMcpTools } from '@/api/mcp'
import type { McpPolicy, McpServer, McpTool } from '@/api/types'
import { Badge } from '@/components/ui/Badge'
import { Button } from '@/components/ui/Button'
import { Disclosure } from '@/components/ui/Disclosure'
import { ErrorText } from '@/components/ui/ErrorText'
import { type Key, useT } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'
import { useFold } from '@/stores/folds'
import { Json } from './Json'
import { PolicySelect, useSetRules } from './McpRules'

const STATE = {
  new: ['mcpToolNew', 'warn'],
  trusted: ['mcpToolTrusted', 'ok'],
  description_changed: ['mcpToolReworded', 'warn'],
  schema_changed: ['mcpToolChanged', 'warn'],
  unusable: ['mcpToolUnusable', 'bad'],
} as const satisfies Record<McpTool['state'], readonly [Key, 'ok' | 'warn' | 'bad']>

/** Tools that a person may trust as they are now. */
const waits = ({ state }: McpTool) => state !== 'trusted' && state !== 'unusable'

/** The tools that a server lists, each with what was trusted of it. */
export function McpTools({ server }: { server: McpServer }) {
  const t = useT()
  const [problem, setProblem] = useState<string | null>(null)
  // A tool that changed is looked at by itself.
  const fresh = server.tools.filter(({ state }) => state === 'new')
  const trust = async (tools: McpTool[]) => {
    setProblem(null)
    const seen = tools.map(({ definition, sha256 }) => ({ name: String(definition.name), sha256 }))
    try {
      keepMcpServers(await trustMcpTools(server.name, seen))
    } catch (cause) {
      setProblem(reasonOf(cause))
    }
  }
  return (
    <div className="space-y-1.5">
      {fresh.length > 1 && (
        <Button size="small" onClick={() => void trust(fresh)}>
          {t('mcpTrustAll', { count: fresh.length })}
        </Button>
      )}
      <ul aria-label={t('mcpToolsOf', { name: server.name })} className="divide-y rounded-md border px-2">
        {server.tools.map(tool => (
          <li key={tool.sha256}>
            <Row server={server} tool={tool} onTrust={() => void trust([tool])} />
          </li>
        ))}
      </ul>
      {problem && <ErrorText>{problem}</ErrorText>}
    </div>
  )
}

function Row({ server, tool, onTrust }: { server: McpServer; tool: McpTool; onTrust: () => void }) {
  const t = useT()
  const [open, setOpen] = useFold(`mcp-${server.name}-${tool.name}`, false)
  const [words, tone] = STATE[tool.state]
  const shown = (value: unknown) => JSON.stringify(value, null, 2)
  return (
    <Disclosure
      open={open}
      onToggle={setOpen}
      summaryClass="py-1.5"
      summary={
        <>
          <code className="min-w-0 font-mono text-[12px] [overflow-wrap:anywhere]">{tool.name}</code>
          <span className="ms-auto">
            <Badge tone={tone}>{t(words)}</Badge>
          </span>
        </>
      }
    >
      <div className="space-y-2 pb-2">
        {tool.reason && <p className="text-bad">{tool.reason}</p>}
        {tool.trusted && (
          <>
            <p className="text-fg-2">{t('mcpTrustedBefore')}</p>
            <Json label={t('mcpTrustedBefore')} text={shown(tool.trusted)} />
            <p className="text-fg-2">{t('mcpNow')}</p>
          </>
        )}
        <Json label={t('mcpDefinition', { name: tool.name })} text={shown(tool.definition)} />
        {tool.state !== 'unusable' && <ToolPolicy server={server} name={String(tool.definition.name)} />}
        {waits(tool) && (
          <Button look="solid" size="small" onClick={onTrust}>
            {t('mcpTrustTool')}
          </Button>
        )}
      </div>
    </Disclosure>
  )
}

/** The rule for the calls of one tool. */
function ToolPolicy({ server, name }: { server: McpServer; name: string }) {
  const t = useT()
  const id = useId()
  const { set, problem } = useSetRules(server)
  const change = (policy: McpPolicy | null) =>
    set(({ tools = {} }) => {
      const { [name]: _, ...others } = tools
      return { tools: policy ? { ...others, [name]: policy } : others }
    })
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1.5">
      <span id={id} className="text-fg-2">
        {t('mcpPolicy')}
      </span>
      <PolicySelect
        labelledBy={id}
        value={server.rules.tools?.[name] ?? null}
        otherwise={t('mcpPolicyOfServer')}
        onChange={change}
      />
      {problem && <ErrorText>{problem}</ErrorText>}
    </div>
  )
}
