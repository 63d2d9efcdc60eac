import type { McpServer } from '@/api/types'
import { Button } from '@/components/ui/Button'
import { useT } from '@/lib/i18n'

interface Props {
  server: McpServer
  busy: boolean
  onRemove: (keepFiles: boolean) => void
  onCancel: () => void
}

/** What goes with a server, and what may stay. */
export function RemoveMcpServer({ server: { name, remote }, busy, onRemove, onCancel }: Props) {
  const t = useT()
  const folder = `storage/mcp/${name}`
  return (
    <div className="space-y-2 rounded-md border p-2">
      <p className="text-fg-2 [overflow-wrap:anywhere]">
        {remote ? t('mcpRemoveRemote') : t('mcpRemoveProgram', { folder })}
      </p>
      <div className="flex flex-wrap gap-1.5">
        <Button look="danger" size="small" disabled={busy} onClick={() => onRemove(false)}>
          {t('mcpRemoveAction')}
        </Button>
        {!remote && (
          <Button size="small" disabled={busy} onClick={() => onRemove(true)}>
            {t('mcpRemoveKeep')}
          </Button>
        )}
        <Button size="small" onClick={onCancel}>
          {t('cancel')}
        </Button>
      </div>
    </div>
  )
}
