import { useId, useState } from 'react'
import { keepMcpServers, mcpKey, setMcpRules } from '@/api/mcp'
import { queryClient } from '@/api/queries'
import type { McpPolicy, McpServer, McpServers, McpRules as Rules } from '@/api/types'
import { ErrorText } from '@/components/ui/ErrorText'
import { Select } from '@/components/ui/Select'
import { type Key, useT } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'

const LOADS = {
  auto: 'mcpLoadAuto',
  always: 'mcpLoadAlways',
  deferred: 'mcpLoadDeferred',
  never: 'mcpLoadNever',
} as const satisfies Record<Rules['load'] & string, Key>

export const POLICIES = {
  allow: 'mcpPolicyAllow',
  ask: 'mcpPolicyAsk',
  deny: 'mcpPolicyDeny',
  unattended: 'mcpPolicyUnattended',
} as const satisfies Record<McpPolicy, Key>

const words = Object.entries as <K extends string>(of: Record<K, Key>) => [K, Key][]

/** Changes wait for those before them, because each one sends all rules. */
let last: Promise<unknown> = Promise.resolve()

/** Sets rules, and shows the list as it is then. */
export function useSetRules({ name, rules }: McpServer) {
  const [problem, setProblem] = useState<string | null>(null)
  const set = (change: (rules: Rules) => Partial<Rules>) => {
    setProblem(null)
    const changed = last.then(async () => {
      const now = queryClient.getQueryData<McpServers>(mcpKey)?.servers.find(server => server.name === name)
      const known = now?.rules ?? rules
      keepMcpServers(await setMcpRules(name, { ...known, ...change(known) }))
    })
    last = changed.catch((cause: unknown) => setProblem(reasonOf(cause)))
  }
  return { set, problem }
}

/** When the tools of a server are loaded, and the rule for its calls. */
export function McpRules({ server }: { server: McpServer }) {
  const t = useT()
  const id = useId()
  const { set, problem } = useSetRules(server)
  const { load, policy } = server.rules
  return (
    <div className="space-y-1.5">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1.5">
        <span id={`${id}-policy`} className="text-fg-2">
          {t('mcpPolicy')}
        </span>
        <PolicySelect
          labelledBy={`${id}-policy`}
          value={policy ?? null}
          otherwise={t('mcpPolicyConfigured')}
          onChange={policy => set(() => ({ policy }))}
        />
        <span id={`${id}-load`} className="text-fg-2">
          {t('mcpLoad')}
        </span>
        <Select
          aria-labelledby={`${id}-load`}
          value={load ?? 'auto'}
          options={words(LOADS).map(([value, key]) => ({ value, words: t(key) }))}
          onChange={value => set(() => ({ load: value as Rules['load'] }))}
        />
      </div>
      {problem && <ErrorText>{problem}</ErrorText>}
    </div>
  )
}

interface PolicyProps {
  labelledBy: string
  value: McpPolicy | null
  /** What counts without a choice. */
  otherwise: string
  onChange: (policy: McpPolicy | null) => void
}

export function PolicySelect({ labelledBy, value, otherwise, onChange }: PolicyProps) {
  const t = useT()
  const options = words(POLICIES).map(([policy, key]) => ({ value: policy as string, words: t(key) }))
  return (
    <Select
      aria-labelledby={labelledBy}
      value={value ?? ''}
      options={[{ value: '', words: otherwise }, ...options]}
      onChange={chosen => onChange(chosen === '' ? null : (chosen as McpPolicy))}
    />
  )
}
