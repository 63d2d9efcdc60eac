import { Plug } from 'lucide-react'
import { useMcpServers } from '@/api/mcp'
import type { Chosen } from '@/api/types'
import { MenuItem } from '@/components/ui/Menu'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import { withServer } from './switches'

interface Props {
  chosen: Chosen
  onChoose: (chosen: Chosen) => void
}

/** Switches for the MCP servers of one conversation; nothing if the home has none. */
export default function ServerItems({ chosen, onChoose }: Props) {
  const t = useT()
  const servers = (useMcpServers().data?.servers ?? []).filter(
    ({ status }) => status !== 'unconfirmed' && status !== 'broken',
  )
  const off = chosen.mcp_off ?? []
  // One that is not usable any more can still be switched on again.
  const names = [...new Set([...servers.map(({ name }) => name), ...off])]
  if (names.length === 0) return null
  return (
    <div role="group" aria-label={t('mcpServers')} className="mt-1 border-t pt-1">
      <p aria-hidden className="px-2 py-1 text-fg-3 text-meta">
        {t('mcpServers')}
      </p>
      {names.map(name => {
        const on = !off.includes(name)
        return (
          <MenuItem
            key={name}
            icon={<Plug size={14} aria-hidden className="shrink-0" />}
            checked={on}
            onSelect={() => onChoose(withServer(chosen, name, !on))}
          >
            <span>
              {name}
              <span className="block font-normal text-fg-3 text-meta">{t(on ? 'mcpIsOn' : 'mcpIsOff')}</span>
            </span>
          </MenuItem>
        )
      })}
    </div>
  )
}
