import { RotateCw, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { keepMcpServers, reconnectMcpServer, removeMcpServer, trustMcpServer } from '@/api/mcp'
import type { McpServer, McpServers } from '@/api/types'
import { Badge } from '@/components/ui/Badge'
import { Button, IconButton } from '@/components/ui/Button'
import { ErrorText } from '@/components/ui/ErrorText'
import { Visible } from '@/components/Visible'
import { type Key, useT } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'
import { Json } from './Json'
import { McpRules } from './McpRules'
import { McpSignIn } from './McpSignIn'
import { McpTools } from './McpTools'
import { installCommand, readable } from './pasted'
import { RemoveMcpServer } from './RemoveMcpServer'

const STATUS = {
  unconfirmed: ['mcpUnconfirmed', 'warn'],
  stopped: ['mcpStopped', 'plain'],
  starting: ['mcpStarting', 'plain'],
  running: ['mcpRunning', 'ok'],
  failed: ['mcpFailed', 'bad'],
  needs_sign_in: ['mcpNeedsSignIn', 'warn'],
  broken: ['mcpBroken', 'bad'],
} as const satisfies Record<McpServer['status'], readonly [Key, 'plain' | 'ok' | 'warn' | 'bad']>

/** One server: whether it runs, what is confirmed of it, and its tools. */
export function McpServerCard({ server, onRemoved }: { server: McpServer; onRemoved: () => void }) {
  const t = useT()
  const [busy, setBusy] = useState(false)
  const [removing, setRemoving] = useState(false)
  const [problem, setProblem] = useState<string | null>(null)
  const { name, status, reason } = server
  const [words, tone] = STATUS[status]
  const change = async (changed: Promise<McpServers>, then?: () => void) => {
    setBusy(true)
    setProblem(null)
    try {
      keepMcpServers(await changed)
      then?.()
    } catch (cause) {
      setProblem(reasonOf(cause))
    }
    setBusy(false)
  }
  const waits = status === 'unconfirmed'
  const install = waits ? installCommand(name, server.entry) : null
  return (
    <article aria-label={name} className="space-y-2 rounded-lg border bg-card p-3 text-small">
      <header className="flex flex-wrap items-center gap-2">
        <h5 className="font-mono font-semibold">{name}</h5>
        <Badge tone={tone}>{t(words)}</Badge>
        {server.remote && <Badge>{t('mcpRemote')}</Badge>}
        {server.level === 'off' && <Badge tone="bad">{t('mcpNoFence')}</Badge>}
        <span className="ms-auto flex gap-1">
          {!waits && status !== 'broken' && (
            <IconButton
              size="smallIcon"
              label={t('mcpReconnect', { name })}
              disabled={busy}
              onClick={() => void change(reconnectMcpServer(name))}
            >
              <RotateCw size={14} aria-hidden />
            </IconButton>
          )}
          <IconButton
            size="smallIcon"
            label={t('mcpRemove', { name })}
            disabled={busy}
            aria-expanded={removing}
            onClick={() => setRemoving(!removing)}
          >
            <Trash2 size={14} aria-hidden />
          </IconButton>
        </span>
      </header>
      {removing && (
        <RemoveMcpServer
          server={server}
          busy={busy}
          onRemove={keepFiles => void change(removeMcpServer(name, keepFiles), onRemoved)}
          onCancel={() => setRemoving(false)}
        />
      )}
      {reason && (
        <p className="text-bad [overflow-wrap:anywhere]">
          <Visible text={reason} />
        </p>
      )}
      {waits && (
        <>
          <p className="text-fg-2">{t(server.changed ? 'mcpConfirmChanged' : 'mcpConfirm')}</p>
          {server.package && (
            <p className="[overflow-wrap:anywhere]">
              {server.package.confirmed
                ? t('mcpPackageChanged', {
                    name: server.package.name,
                    before: server.package.confirmed,
                    version: server.package.version,
                  })
                : t('mcpPackage', { name: server.package.name, version: server.package.version })}
            </p>
          )}
          <Json label={t('mcpEntry', { name })} text={readable(server.entry)} />
          {install && (
            <div className="space-y-1.5">
              <p className="text-warn">{t('mcpNpx')}</p>
              <Json label={t('mcpNpxCommand')} text={install} />
            </div>
          )}
          <Button
            look="solid"
            size="small"
            disabled={busy}
            onClick={() => void change(trustMcpServer(name, server.sha256))}
          >
            {t(busy ? 'mcpStarting' : 'mcpConfirmAction')}
          </Button>
        </>
      )}
      {server.sign_in && server.sign_in !== 'not_asked' && !waits && <McpSignIn server={server} />}
      {problem && <ErrorText>{problem}</ErrorText>}
      {server.problems.map(text => (
        <p key={text} className="text-warn">
          <Visible text={text} />
        </p>
      ))}
      {!waits && status !== 'broken' && <McpRules server={server} />}
      {server.tools.length > 0 && <McpTools server={server} />}
    </article>
  )
}
