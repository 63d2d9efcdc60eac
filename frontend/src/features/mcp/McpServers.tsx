import { Plus } from 'lucide-react'
import { useRef, useState } from 'react'
import { useMcpServers } from '@/api/mcp'
import { Banner } from '@/components/ui/Banner'
import { Button } from '@/components/ui/Button'
import { QueryError } from '@/components/ui/QueryError'
import { Skeleton } from '@/components/ui/Skeleton'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import { AddMcpServers } from './AddMcpServers'
import { McpServerCard } from './McpServerCard'

/** The MCP servers of the home, with what a person has trusted of them. */
export function McpServers() {
  const t = useT()
  const { data, error } = useMcpServers()
  const add = useRef<HTMLButtonElement>(null)
  const [adding, setAdding] = useState(false)
  if (!data) return error ? <QueryError error={error} /> : <Skeleton label={t('loading')} rows={2} />
  const closeForm = () => {
    setAdding(false)
    add.current?.focus()
  }
  return (
    <section aria-label={t('mcpServers')} className="space-y-2.5">
      <h4 className="font-semibold text-[13px]">{t('mcpServers')}</h4>
      <p className="text-fg-2 text-small">{t('mcpServersHint')}</p>
      {data.problem && (
        <Banner tone="bad" boxed role="alert">
          {data.problem}
        </Banner>
      )}
      <ul className="space-y-2">
        {data.servers.map(server => (
          <li key={server.name}>
            <McpServerCard server={server} onRemoved={() => add.current?.focus()} />
          </li>
        ))}
      </ul>
      <Button ref={add} size="small" aria-expanded={adding} onClick={() => setAdding(!adding)}>
        <Plus size={14} aria-hidden />
        {t('mcpAdd')}
      </Button>
      {adding && <AddMcpServers onDone={closeForm} />}
    </section>
  )
}
